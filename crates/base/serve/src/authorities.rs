//! Authorities that may sign a registry's certificate.

use std::{fs, path::Path};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

/// Authorities as PEM: one or more certificates, and nothing that is not one.
#[derive(Clone, Debug)]
pub struct Authorities {
    roots: RootCertStore,
    pem: String,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    #[error("cannot read the file of certificate authorities {0}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("cannot use the file of certificate authorities {0}")]
    File(String, #[source] Box<Self>),
    #[error(
        "it holds no certificate: it must be PEM, with lines of BEGIN CERTIFICATE and END CERTIFICATE"
    )]
    None,
    #[error("certificate {number} of the authorities cannot be read: {reason}")]
    Broken { number: usize, reason: String },
}

impl Authorities {
    pub fn read(file: &Path) -> Result<Self, AuthoritiesError> {
        let named = || file.display().to_string();
        let text = fs::read_to_string(file);
        let text = text.map_err(|error| AuthoritiesError::Unreadable(named(), error))?;
        Self::parse(&text).map_err(|error| AuthoritiesError::File(named(), Box::new(error)))
    }

    /// Reads certificates; text between them is left out.
    pub fn parse(text: &str) -> Result<Self, AuthoritiesError> {
        let mut roots = RootCertStore::empty();
        for (number, read) in (1..).zip(CertificateDer::pem_slice_iter(text.as_bytes())) {
            let broken = |reason: String| AuthoritiesError::Broken { number, reason };
            let certificate = read.map_err(|error| broken(airside_model::chain(&error)))?;
            let added = roots.add(certificate);
            added.map_err(|error| broken(airside_model::chain(&error)))?;
        }
        if roots.is_empty() {
            return Err(AuthoritiesError::None);
        }
        let pem = certificates(text);
        Ok(Self { roots, pem })
    }

    /// Returns the certificates as PEM again: only lines of base64 and their borders.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns a configuration that trusts these authorities alone: a user who names the authority
    /// of one registry knows it.
    pub fn alone(&self) -> ClientConfig {
        trusting(self.roots.clone())
    }

    /// Returns a configuration that trusts these authorities and the machine's.
    pub fn beside_machine(&self) -> ClientConfig {
        let mut roots = self.roots.clone();
        // What the machine has and cannot be read is not worth failing for: these are there.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        trusting(roots)
    }
}

fn trusting(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// The lines of the certificates.
fn certificates(text: &str) -> String {
    let harmless = |b: u8| b.is_ascii_alphanumeric() || b"+/=- ".contains(&b);
    let (mut inside, mut lines) = (false, String::new());
    for line in text.lines().map(str::trim) {
        inside |= line == "-----BEGIN CERTIFICATE-----";
        if inside && line.bytes().all(harmless) {
            lines += line;
            lines.push('\n');
        }
        inside &= line != "-----END CERTIFICATE-----";
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_refused_and_what_is_around_one_left_out() {
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let pem = made.cert.pem().replace("\r\n", "\n");
        let read = Authorities::parse(&format!("# ours: \"x\"\n{pem}\nmore\n{pem}")).unwrap();
        assert_eq!(read.pem(), format!("{pem}{pem}"));
        let key = made.signing_key.serialize_pem();
        for wrong in ["", "text", &key] {
            let refused = Authorities::parse(wrong);
            assert!(matches!(refused, Err(AuthoritiesError::None)), "{wrong}");
        }
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let refused = Authorities::parse(&format!("{pem}{broken}"));
        assert!(matches!(
            refused,
            Err(AuthoritiesError::Broken { number: 2, .. })
        ));
    }
}
