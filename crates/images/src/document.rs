//! The JSON documents of an image, as far as we read them.

use serde::{Deserialize, Serialize};

use crate::Error;

/// `sha256:` and 64 hex digits: nothing else becomes part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        let valid = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != 64 || !hex.bytes().all(valid) {
            return Err(Error::Damaged {
                what: format!("{text:?} is no sha256 digest"),
            });
        }
        Ok(Self(hex.to_owned()))
    }

    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    pub platform: Option<Platform>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Platform {
    pub os: String,
    pub architecture: String,
}

/// An index, or the one thing an index leads to.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Document {
    Index { manifests: Vec<Descriptor> },
    Manifest(Manifest),
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Manifest {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Config {
    #[serde(default)]
    pub config: Option<Settings>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Settings {
    #[serde(default)]
    pub env: Option<Vec<String>>,
    #[serde(default)]
    pub user: Option<String>,
}

/// This machine's, in the words that images use.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_never_paths() {
        let good = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(Digest::parse(&good).unwrap().to_string(), good);
        let upper = format!("sha256:{}", "0A".repeat(32));
        for bad in ["", "sha256:", "sha256:../../x", "sha512:00", upper.as_str()] {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
    }
}
