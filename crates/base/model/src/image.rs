//! Parts of image names that are equal for pulling, keeping and serving them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `sha256:` and 64 hexadecimal digits: nothing else becomes part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadDigest(String);

impl Digest {
    pub fn parse(text: &str) -> Result<Self, BadDigest> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() == 64 && hex.bytes().all(digit) {
            Ok(Self(hex.to_owned()))
        } else {
            Err(BadDigest(text.to_owned()))
        }
    }

    pub fn of_sha256(hash: [u8; 32]) -> Self {
        Self(hex::encode(hash))
    }

    pub fn hex(&self) -> &str {
        &self.0
    }
}

/// True if the text can be a part of a repository's name between slashes: words of lower-case
/// letters and digits, with `.`, `_`, `__` or any number of `-` between them.
pub fn is_name_part(part: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joins =
        |run: &str| matches!(run, "" | "." | "_" | "__") || run.bytes().all(|byte| byte == b'-');
    part.starts_with(word) && part.ends_with(word) && part.split(word).all(joins)
}

/// True if the text can be a tag.
pub fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|byte| word(byte) || b".-".contains(&byte))
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl fmt::Display for BadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no sha256 digest", self.0)
    }
}

impl std::error::Error for BadDigest {}

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
        for bad in [
            "",
            "sha256:",
            "sha256:0A",
            "sha256:../x",
            &text[7..],
            &text.to_uppercase(),
        ] {
            let error = Digest::parse(bad).unwrap_err().to_string();
            assert!(error.contains("no sha256 digest"), "{error}");
        }
    }

    #[test]
    fn tags() {
        let long = "a".repeat(128);
        assert!(["a", "_", "1.2-x", "latest", &long].into_iter().all(is_tag));
        let longer = long + "a";
        let bad = ["", ".a", "-a", "a/b", "a:b", "a b", &longer];
        assert!(!bad.into_iter().any(is_tag));
    }

    #[test]
    fn parts_of_names() {
        for good in ["a", "0", "a.b", "a_b", "a__b", "a---b", "a-b.c"] {
            assert!(is_name_part(good), "{good}");
        }
        for bad in [
            "", ".", "..", "-a", "a-", "A", "a..b", "a___b", "a._b", "a/b", "a b",
        ] {
            assert!(!is_name_part(bad), "{bad}");
        }
    }
}
