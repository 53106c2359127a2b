//! The hub's TLS key. Shims pin its hash, so it must outlive the server process.

use std::{
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

#[derive(Debug, thiserror::Error)]
pub enum HubIdentityError {
    #[error("the hub's key file {path} cannot be used")]
    File { path: String, source: io::Error },
    #[error("the hub's key file {path} holds no key; remove it to have a new one made")]
    Key { path: String, source: rcgen::Error },
}

/// A key, and a certificate for it that no peer needs to trust: shims compare the key's hash.
pub struct HubIdentity {
    key: KeyPair,
    certificate: CertificateDer<'static>,
}

impl HubIdentity {
    /// Reads the key from a file, or makes one that only its owner can read.
    pub fn load_or_create(path: &Path) -> Result<Self, HubIdentityError> {
        let shown = || path.display().to_string();
        let in_file = |source| HubIdentityError::File {
            path: shown(),
            source,
        };
        let in_key = |source| HubIdentityError::Key {
            path: shown(),
            source,
        };
        let pem = match std::fs::read_to_string(path) {
            Ok(pem) => pem,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let pem = KeyPair::generate().map_err(in_key)?.serialize_pem();
                write_private(path, &pem).map_err(in_file)?;
                pem
            }
            Err(error) => return Err(in_file(error)),
        };
        let key = KeyPair::from_pem(&pem).map_err(in_key)?;
        let params = CertificateParams::new(vec!["airside-hub".to_owned()]).map_err(in_key)?;
        let certificate = params.self_signed(&key).map_err(in_key)?.der().clone();
        Ok(Self { key, certificate })
    }

    /// Hex SHA-256 of the public key, as shims pin it.
    pub fn pin(&self) -> String {
        hex::encode(Sha256::digest(self.key.subject_public_key_info()))
    }

    pub(crate) fn server_config(&self) -> Result<rustls::ServerConfig, rustls::Error> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
