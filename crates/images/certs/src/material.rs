//! The material of a Secret: the authorities, newest first, the key of the newest, and the served
//! certificate with its key.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData as _};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, parse_x509_certificate};

const AUTHORITIES: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const LEAF: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";

/// Everything as PEM, as a Secret has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Material {
    /// One certificate each; never empty.
    pub(crate) authorities: Vec<String>,
    pub(crate) authority_key: String,
    pub(crate) leaf: String,
    pub(crate) leaf_key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMaterial {
    #[error("it has no {0}")]
    Absent(&'static str),
    #[error("its {0} is not text")]
    NotText(&'static str),
    #[error("its {0} is not a certificate in PEM")]
    NoCertificate(&'static str),
    #[error("its {key} is not the key of the first certificate in {certificate}")]
    OtherKey {
        key: &'static str,
        certificate: &'static str,
    },
}

/// Fields of a certificate that renewal needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    /// Names it is for, sorted.
    pub(crate) names: Vec<String>,
}

impl Material {
    pub(crate) fn read(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, BadMaterial> {
        let text = |key: &'static str| {
            let bytes = data.get(key).ok_or(BadMaterial::Absent(key))?;
            String::from_utf8(bytes.clone()).map_err(|_| BadMaterial::NotText(key))
        };
        let read = Self {
            authorities: split(&text(AUTHORITIES)?),
            authority_key: text(AUTHORITY_KEY)?,
            leaf: text(LEAF)?,
            leaf_key: text(LEAF_KEY)?,
        };
        if read.authorities.is_empty() {
            return Err(BadMaterial::NoCertificate(AUTHORITIES));
        }
        for authority in &read.authorities {
            facts(authority).ok_or(BadMaterial::NoCertificate(AUTHORITIES))?;
        }
        facts(&read.leaf).ok_or(BadMaterial::NoCertificate(LEAF))?;
        let pairs = [
            (
                AUTHORITY_KEY,
                &read.authority_key,
                AUTHORITIES,
                &read.authorities[0],
            ),
            (LEAF_KEY, &read.leaf_key, LEAF, &read.leaf),
        ];
        for (key, key_text, certificate, certificate_text) in pairs {
            if !is_pair(key_text, certificate_text) {
                return Err(BadMaterial::OtherKey { key, certificate });
            }
        }
        Ok(read)
    }

    pub(crate) fn data(&self) -> BTreeMap<String, Vec<u8>> {
        let entry = |key: &str, text: &str| (key.to_owned(), text.as_bytes().to_vec());
        BTreeMap::from([
            entry(AUTHORITIES, &self.bundle()),
            entry(AUTHORITY_KEY, &self.authority_key),
            entry(LEAF, &self.leaf),
            entry(LEAF_KEY, &self.leaf_key),
        ])
    }

    /// The certificates of all authorities that are to be trusted, one behind the other.
    pub fn bundle(&self) -> String {
        self.authorities.concat()
    }
}

/// Keys stay out of logs.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("authorities", &self.authorities.len())
            .finish_non_exhaustive()
    }
}

fn split(bundle: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    bundle
        .split_inclusive(END)
        .filter(|part| part.contains(END))
        .map(|part| format!("{}\n", part.trim()))
        .collect()
}

fn is_pair(key: &str, certificate: &str) -> bool {
    let of_key = KeyPair::from_pem(key).map(|key| key.subject_public_key_info());
    let Ok(der) = CertificateDer::from_pem_slice(certificate.as_bytes()) else {
        return false;
    };
    match (of_key, parse_x509_certificate(&der)) {
        (Ok(of_key), Ok((_, found))) => found.public_key().raw == of_key,
        _ => false,
    }
}

/// `None` for what is not a certificate.
pub(crate) fn facts(pem: &str) -> Option<Facts> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, found) = parse_x509_certificate(&der).ok()?;
    let validity = found.validity();
    let time = |seconds: i64| Timestamp::from_second(seconds).ok();
    Some(Facts {
        subject: common_name(found.subject())?,
        issuer: common_name(found.issuer())?,
        from: time(validity.not_before.timestamp())?,
        until: time(validity.not_after.timestamp())?,
        names: names(&found),
    })
}

fn common_name(name: &x509_parser::x509::X509Name<'_>) -> Option<String> {
    let found = name.iter_common_name().next()?;
    found.as_str().ok().map(str::to_owned)
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let mut names: Vec<String> = alternative
        .iter()
        .flat_map(|found| &found.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

fn address(bytes: &[u8]) -> Option<String> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes)
            .ok()
            .map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
        16 => <[u8; 16]>::try_from(bytes)
            .ok()
            .map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
