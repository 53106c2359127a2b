//! The API's certificate: read from files, checked, and read again when they change.

use std::{
    fmt,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airside_store::now;
use parking_lot::{Mutex, RwLock};
use rustls::{
    ServerConfig,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use x509_parser::parse_x509_certificate;

/// Each says which file it is about and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {what} {}: {reason}", path.display())]
    Unreadable {
        what: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("there is no certificate in {} (--tls-cert); it must hold one in PEM, `-----BEGIN CERTIFICATE-----`", .0.display())]
    NoCertificate(PathBuf),
    #[error("cannot use the certificate in {} (--tls-cert): {reason}", path.display())]
    BadCertificate { path: PathBuf, reason: String },
    #[error("the certificate in {} (--tls-cert) expired on {since}; renew it", path.display())]
    Expired { path: PathBuf, since: String },
    #[error("the certificate in {} (--tls-cert) is not valid before {from}; check this machine's clock", path.display())]
    NotYet { path: PathBuf, from: String },
    #[error("cannot use the key in {} (--tls-key): {reason}", path.display())]
    BadKey { path: PathBuf, reason: String },
    #[error("the key in {} (--tls-key) is not that of the certificate in {} (--tls-cert)", key.display(), cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
}

/// A certificate, its key, and where they are from.
pub struct Tls {
    files: Files,
    current: Arc<Current>,
    /// The files as they were when last looked at, whether they could be used or not.
    seen: Mutex<Option<[Stamp; 2]>>,
}

#[derive(Clone)]
struct Files {
    cert: PathBuf,
    key: PathBuf,
}

struct Current(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Current")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

/// Distinguishes a file from its replacement, also behind a symbolic link.
type Stamp = (u64, i64, i64, u64);

impl Tls {
    /// Pause between two looks at the files.
    pub const FILE_POLL_INTERVAL: Duration = Duration::from_secs(5);

    pub fn load(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = Files {
            cert: cert.to_owned(),
            key: key.to_owned(),
        };
        let seen = files.stamps();
        let current = Arc::new(Current(RwLock::new(Arc::new(files.read()?))));
        Ok(Self {
            files,
            current,
            seen: Mutex::new(seen),
        })
    }

    /// Reads the files again. If they cannot be used, what was read before stays.
    pub async fn reload(&self) -> Result<(), TlsError> {
        *self.seen.lock() = self.files.stamps();
        let files = self.files.clone();
        let read = airside_tasks::blocking("certificate", move || files.read()).await;
        // A panic is in the log already.
        let Ok(read) = read else { return Ok(()) };
        *self.current.0.write() = Arc::new(read?);
        Ok(())
    }

    /// Reads them again if they are not those that were looked at last; says whether they were.
    pub async fn reload_if_changed(&self) -> Result<bool, TlsError> {
        if self.files.stamps() == *self.seen.lock() {
            return Ok(false);
        }
        self.reload().await.map(|()| true)
    }

    /// TLS 1.2 and 1.3; HTTP/2 for who asks for it.
    pub(crate) fn server_config(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

impl Files {
    fn stamps(&self) -> Option<[Stamp; 2]> {
        let stamp = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
        };
        Some([stamp(&self.cert)?, stamp(&self.key)?])
    }

    fn read(&self) -> Result<CertifiedKey, TlsError> {
        let chain = self.chain()?;
        check_dates(&self.cert, &chain[0])?;
        let text = read_file("the key", &self.key)?;
        let bad_key = |reason: String| TlsError::BadKey {
            path: self.key.clone(),
            reason,
        };
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => bad_key(
                "there is none in it; it must be in PEM and without a passphrase".to_owned(),
            ),
            other => bad_key(other.to_string()),
        })?;
        let provider = CryptoProvider::get_default()
            .ok_or_else(|| bad_key("no TLS provider is installed".to_owned()))?;
        let key = provider.key_provider.load_private_key(key);
        let key = key.map_err(|error| bad_key(airside_model::chain(&error)))?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
                Err(TlsError::Mismatch {
                    cert: self.cert.clone(),
                    key: self.key.clone(),
                })
            }
            // Some keys cannot tell; then the clients will.
            _ => Ok(certified),
        }
    }

    /// The certificate, then those between it and the root.
    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let text = read_file("the certificate", &self.cert)?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::BadCertificate {
                path: self.cert.clone(),
                reason: airside_model::chain(&error),
            })?;
        if chain.is_empty() {
            Err(TlsError::NoCertificate(self.cert.clone()))
        } else {
            Ok(chain)
        }
    }
}

fn read_file(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::Unreadable {
        what,
        path: path.to_owned(),
        reason: airside_model::chain(&error),
    })
}

fn check_dates(path: &Path, certificate: &CertificateDer<'_>) -> Result<(), TlsError> {
    let (_, parsed) =
        parse_x509_certificate(certificate).map_err(|error| TlsError::BadCertificate {
            path: path.to_owned(),
            reason: airside_model::chain(&error),
        })?;
    let (validity, now) = (parsed.validity(), now().seconds());
    if validity.not_after.timestamp() < now {
        return Err(TlsError::Expired {
            path: path.to_owned(),
            since: validity.not_after.to_string(),
        });
    }
    if validity.not_before.timestamp() > now {
        return Err(TlsError::NotYet {
            path: path.to_owned(),
            from: validity.not_before.to_string(),
        });
    }
    Ok(())
}
