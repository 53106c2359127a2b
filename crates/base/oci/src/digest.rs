//! Digests of content.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::shortened;

/// A SHA-256 digest, written as `sha256:` and 64 lower-case hexadecimal digits. It is safe in a
/// path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text that is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sha256 digest")]
pub struct BadDigest(String);

impl Digest {
    pub fn parse(text: &str) -> Result<Self, BadDigest> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() == 64 && hex.bytes().all(is_digit) {
            Ok(Self(hex.to_owned()))
        } else {
            Err(BadDigest(shortened(text)))
        }
    }

    /// Returns the digest that has this hash.
    pub fn of_sha256(hash: [u8; 32]) -> Self {
        Self(hex::encode(hash))
    }

    /// Hashes content.
    pub fn of_bytes(content: &[u8]) -> Self {
        Self::of_sha256(Sha256::digest(content).into())
    }

    /// Returns the 64 digits without the algorithm.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = BadDigest;

    fn try_from(text: String) -> Result<Self, BadDigest> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_and_printed() {
        let text = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(Digest::parse(&text).unwrap().to_string(), text);
        assert_eq!(Digest::of_sha256([10; 32]).to_string(), text);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of_bytes(b"").hex(), empty);
        let long = "x".repeat(10_000);
        for bad in [
            "",
            "sha256:",
            "sha256:0A",
            "sha256:../x",
            "sha256:../../x",
            "sha512:00",
            &text[7..],
            &text.to_uppercase(),
            &format!("{text}0"),
            &long,
        ] {
            let error = Digest::parse(bad).unwrap_err().to_string();
            assert!(error.contains("not a sha256 digest"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
    }
}
