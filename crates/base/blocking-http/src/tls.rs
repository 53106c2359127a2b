//! Trust in servers over TLS.

use std::sync::Arc;

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};

use crate::{Error, given::Given};

/// Bundles of this machine's own certificates, where it has one.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Public certificates, and those of the machine.
    #[default]
    Public,
    /// The usual certificates and these, as PEM.
    Also(Vec<String>),
    /// These and no others, as PEM.
    Only(Vec<String>),
    /// Any server, without verification.
    Anybody,
}

/// Settings of TLS for one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    pub trust: Trust,
    pub identity: Option<ClientIdentity>,
    /// The name to expect, if it is not the address's host.
    pub server_name: Option<String>,
}

/// Certificate and key for a server that asks for them, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for ClientIdentity {
    /// Formats all but the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// [`Tls`], ready to be used.
pub(crate) struct Secured {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: Option<String>,
}

pub(crate) fn secured(tls: &Tls) -> Result<Secured, Error> {
    Ok(Secured {
        config: config(&tls.trust, tls.identity.as_ref())?,
        name: tls.server_name.clone(),
    })
}

fn config(trust: &Trust, identity: Option<&ClientIdentity>) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Certificate(error.to_string()))?;
    let builder = match trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NoVerifier(provider))),
        Trust::Public => builder.with_root_certificates(roots(&[])?),
        Trust::Also(more) => builder.dangerous().with_custom_certificate_verifier(given(
            roots(more)?,
            more,
            provider,
        )?),
        Trust::Only(these) => {
            let mut roots = RootCertStore::empty();
            add(&mut roots, these)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(given(roots, these, provider)?)
        }
    };
    let Some(identity) = identity else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let (chain, key) = read(identity)?;
    let config = builder.with_client_auth_cert(chain, key);
    config
        .map(Arc::new)
        .map_err(|error| Error::Certificate(error.to_string()))
}

fn given(
    roots: RootCertStore,
    more: &[String],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<Given>, Error> {
    let mut certificates = Vec::new();
    for text in more {
        certificates.extend(CertificateDer::pem_slice_iter(text.as_bytes()).flatten());
    }
    let verifier = Given::new(roots, certificates, provider);
    verifier
        .map(Arc::new)
        .map_err(|error| Error::Certificate(error.to_string()))
}

type Certified = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(identity: &ClientIdentity) -> Result<Certified, Error> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Certificate(error.to_string()))?;
    // What is wrong with a key is not printed: the words could hold parts of it.
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())
        .map_err(|_| Error::Certificate("the client's key is not a private key".to_owned()))?;
    Ok((chain, key))
}

fn roots(more: &[String]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(bundle) = BUNDLES.iter().find_map(|path| std::fs::read(path).ok()) {
        let certificates = CertificateDer::pem_slice_iter(&bundle);
        // What the machine has and we cannot read is not worth failing for.
        roots.add_parsable_certificates(certificates.flatten());
    }
    add(&mut roots, more)?;
    Ok(roots)
}

/// Adds the certificates of texts, each of which must have one.
fn add(roots: &mut RootCertStore, texts: &[String]) -> Result<(), Error> {
    for text in texts {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(text.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| Error::Certificate(error.to_string()))?;
        if certificates.is_empty() {
            return Err(Error::Certificate("there is none in the text".to_owned()));
        }
        for certificate in certificates {
            let added = roots.add(certificate);
            added.map_err(|error| Error::Certificate(error.to_string()))?;
        }
    }
    Ok(())
}

/// Accepts every certificate: the caller asked for it by `skip_ssl_verification` or its like.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
