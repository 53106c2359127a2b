//! One connection to a directory.

use std::sync::Arc;

use ldap3::{LdapConnAsync, LdapConnSettings, LdapError, LdapResult, Scope};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{LdapTls, Reach, entry::Entry};
use crate::error::{Fault, Result};

/// Results that mean the name or the password is wrong: invalid credentials, and what some say
/// instead of a password that breaks their rules.
const WRONG: [u32; 2] = [49, 19];
const NO_SUCH_OBJECT: u32 = 32;

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

pub(crate) fn url(host: &str, tls: LdapTls) -> Result<String, LdapSetupError> {
    let scheme = match tls {
        LdapTls::Plain | LdapTls::StartTls => "ldap",
        LdapTls::Ldaps => "ldaps",
    };
    let url = format!("{scheme}://{host}");
    let bare = !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']);
    match bare && url::Url::parse(&url).is_ok_and(|url| url.host().is_some()) {
        true => Ok(url),
        false => Err(LdapSetupError::Host(host.to_owned())),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Yes,
    No,
}

pub(crate) struct Connection {
    ldap: ldap3::Ldap,
    driver: tokio::task::JoinHandle<()>,
}

impl Connection {
    pub(crate) async fn open(
        url: &str,
        tls: LdapTls,
        config: Option<Arc<ClientConfig>>,
    ) -> Result<Self> {
        let mut settings = LdapConnSettings::new().set_starttls(tls == LdapTls::StartTls);
        if let Some(config) = config {
            settings = settings.set_config(config);
        }
        let opened = LdapConnAsync::with_settings(settings, url).await;
        let (connection, ldap) = opened.map_err(|error| Fault::Unreachable {
            at: url.to_owned(),
            source: error.into(),
        })?;
        let driver = tokio::spawn(async move {
            // What ends a connection early is also what its operations report.
            let _ = connection.drive().await;
        });
        Ok(Self { ldap, driver })
    }

    pub(crate) async fn bind(&mut self, dn: &str, password: &str) -> Result<Bound> {
        let doing = "check a password";
        let bound = self.ldap.simple_bind(dn, password).await;
        let result = bound.map_err(|error| failed(doing, &error))?;
        match result.rc {
            0 => Ok(Bound::Yes),
            code if WRONG.contains(&code) => Ok(Bound::No),
            _ => Err(refused(doing, &result)),
        }
    }

    pub(crate) async fn search(
        &mut self,
        base: &str,
        reach: Reach,
        filter: &str,
        attributes: &[&str],
    ) -> Result<Vec<Entry>> {
        let doing = "search";
        let scope = match reach {
            Reach::Subtree => Scope::Subtree,
            Reach::OneLevel => Scope::OneLevel,
        };
        let searched = self.ldap.search(base, scope, filter, attributes).await;
        let found = searched.map_err(|error| failed(doing, &error))?;
        match found.1.rc {
            0 => {}
            NO_SUCH_OBJECT => return Ok(Vec::new()),
            _ => return Err(refused(doing, &found.1)),
        }
        let entries = found.0.into_iter().map(Entry::read);
        entries.collect::<Option<_>>().ok_or(Fault::Directory {
            doing,
            why: "an entry that it found cannot be understood".to_owned(),
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn failed(doing: &'static str, error: &LdapError) -> Fault {
    let why = error.to_string();
    Fault::Directory { doing, why }
}

fn refused(doing: &'static str, result: &LdapResult) -> Fault {
    let why = format!("result {} {}", result.rc, result.text);
    Fault::Directory {
        doing,
        why: why.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_host() {
        assert_eq!(
            url("a.example", LdapTls::Plain).unwrap(),
            "ldap://a.example"
        );
        assert_eq!(url("a:1389", LdapTls::StartTls).unwrap(), "ldap://a:1389");
        assert_eq!(
            url("[::1]:636", LdapTls::Ldaps).unwrap(),
            "ldaps://[::1]:636"
        );
        for bad in ["", "ldap://a", "a/b", "a b", "u@a", "a:port"] {
            assert!(url(bad, LdapTls::Ldaps).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ca_file_must_have_a_certificate() {
        for pem in [&b""[..], b"hello"] {
            assert!(matches!(tls(Some(pem)), Err(LdapSetupError::NoCertificate)));
        }
    }
}
