//! The certificate as TLS serves it: exchanged while connections are made.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::sync::watch;

use crate::Material;

#[derive(Debug, thiserror::Error)]
#[error("the certificate that is kept cannot be served: {0}")]
pub struct BadKey(String);

/// The served certificate, and the authorities that clients must trust. Clones share both.
#[derive(Clone)]
pub struct Served {
    current: Arc<Current>,
    bundle: watch::Sender<String>,
}

struct Current {
    provider: Arc<CryptoProvider>,
    certified: RwLock<Arc<CertifiedKey>>,
}

impl Served {
    pub fn new(material: &Material) -> Result<Self, BadKey> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let certified = certified(material, &provider)?;
        Ok(Self {
            current: Arc::new(Current {
                provider,
                certified: RwLock::new(Arc::new(certified)),
            }),
            bundle: watch::Sender::new(material.bundle()),
        })
    }

    /// Serves new connections with this material; connections that are there stay.
    pub fn replace(&self, material: &Material) -> Result<(), BadKey> {
        let certified = certified(material, &self.current.provider)?;
        *self.current.certified.write() = Arc::new(certified);
        self.bundle.send_if_modified(|bundle| {
            let new = material.bundle();
            let is_other = *bundle != new;
            *bundle = new;
            is_other
        });
        Ok(())
    }

    /// Returns the configuration of a listener: TLS 1.2 and 1.3, HTTP/1.1.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let provider = self.current.provider.clone();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// The certificates to trust, as PEM; says when they change.
    pub fn bundle(&self) -> watch::Receiver<String> {
        self.bundle.subscribe()
    }
}

fn certified(material: &Material, provider: &CryptoProvider) -> Result<CertifiedKey, BadKey> {
    let bad = |error: &dyn std::error::Error| BadKey(airside_model::chain(error));
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(material.leaf.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| bad(&error))?;
    let key = PrivateKeyDer::from_pem_slice(material.leaf_key.as_bytes());
    let key = key.map_err(|error| bad(&error))?;
    let key = provider.key_provider.load_private_key(key);
    let certified = CertifiedKey::new(chain, key.map_err(|error| bad(&error))?);
    certified.keys_match().map_err(|error| bad(&error))?;
    Ok(certified)
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certified.read().clone())
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Current")
    }
}
