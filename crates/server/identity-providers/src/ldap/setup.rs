//! Address of a directory and the certificates to trust there, from the settings.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::LdapTls;
use crate::error::Result;

#[derive(Debug, thiserror::Error)]
pub enum LdapSetupError {
    #[error("{0:?} is not the name of a host, with a port or without")]
    Host(String),
    #[error("{0:?} is not a search filter; write it like (objectClass=person)")]
    Filter(String),
    #[error("no CA certificate is in the file; it must hold one or more in PEM form")]
    NoCertificate,
    #[error("there are no CA certificates on this machine; give the directory's own")]
    NoRoots,
    #[error("no TLS can be set up for the directory")]
    Tls(#[source] rustls::Error),
}

pub(crate) struct LdapAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Address for messages.
    pub(crate) url: String,
}

impl LdapAddress {
    pub(crate) fn parse(given: &str, tls: LdapTls) -> Result<Self, LdapSetupError> {
        let (scheme, port) = match tls {
            LdapTls::Plain | LdapTls::StartTls => ("ldap", 389),
            LdapTls::Ldaps => ("ldaps", 636),
        };
        let url = format!("{scheme}://{given}");
        let bare = !given.is_empty() && !given.contains(['/', '?', '#', '@', ' ']);
        let parsed = url::Url::parse(&url).ok().filter(|_| bare);
        let host = parsed.as_ref().and_then(url::Url::host_str);
        let (Some(parsed), Some(host)) = (&parsed, host) else {
            return Err(LdapSetupError::Host(given.to_owned()));
        };
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: parsed.port().unwrap_or(port),
            url,
        })
    }
}

/// Trusts these certificates, or else the machine's.
pub(crate) fn tls(ca: Option<&[u8]>) -> Result<Arc<ClientConfig>, LdapSetupError> {
    let certificates: Vec<CertificateDer<'static>> = match ca {
        Some(pem) => CertificateDer::pem_slice_iter(pem).flatten().collect(),
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    match (added, ca) {
        (0, Some(_)) => return Err(LdapSetupError::NoCertificate),
        (0, None) => return Err(LdapSetupError::NoRoots),
        _ => {}
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(LdapSetupError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_host() {
        for (given, tls, host, port) in [
            ("a.example", LdapTls::Plain, "a.example", 389),
            ("a:1389", LdapTls::StartTls, "a", 1389),
            ("a.example", LdapTls::Ldaps, "a.example", 636),
            ("[::1]:1636", LdapTls::Ldaps, "::1", 1636),
        ] {
            let place = LdapAddress::parse(given, tls).unwrap();
            assert_eq!((&*place.host, place.port), (host, port), "{given}");
        }
        for bad in ["", "ldap://a", "a/b", "a b", "u@a", "a:port"] {
            assert!(LdapAddress::parse(bad, LdapTls::Ldaps).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ca_file_must_have_a_certificate() {
        for pem in [&b""[..], b"hello"] {
            assert!(matches!(tls(Some(pem)), Err(LdapSetupError::NoCertificate)));
        }
    }
}
