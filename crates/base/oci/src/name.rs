//! Names inside one registry: of repositories and of their manifests.

use std::fmt;

use crate::{BadDigest, Digest, shortened};

/// Bytes of a repository's name, which registries agree on.
const MAX_NAME_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;

/// Returns true if a text can stand between the slashes of a repository's name: words of lower-case
/// letters and digits, with `.`, `_`, `__` or any number of `-` between them.
pub fn is_name_part(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joins =
        |run: &str| matches!(run, "" | "." | "_" | "__") || run.bytes().all(|byte| byte == b'-');
    part.starts_with(is_word) && part.ends_with(is_word) && part.split(is_word).all(joins)
}

/// A repository's name without its registry, such as `library/busybox`. It is safe in a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryName(String);

/// A text that names no repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name of a repository")]
pub struct BadRepositoryName(String);

impl RepositoryName {
    pub fn parse(text: &str) -> Result<Self, BadRepositoryName> {
        if text.len() <= MAX_NAME_BYTES && text.split('/').all(is_name_part) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadRepositoryName(shortened(text)))
        }
    }

    /// Returns the repository of this name below this one.
    pub fn join(&self, name: &str) -> Result<Self, BadRepositoryName> {
        Self::parse(&format!("{self}/{name}"))
    }

    /// Returns true if `other` is this repository or below it.
    pub fn holds(&self, other: &Self) -> bool {
        let below = other.0.strip_prefix(&self.0);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name of a manifest that may come to mean another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

/// A text that is not a tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a tag")]
pub struct BadTag(String);

impl Tag {
    pub fn parse(text: &str) -> Result<Self, BadTag> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_tag = text.len() <= MAX_TAG_BYTES
            && text.bytes().next().is_some_and(is_word)
            && text
                .bytes()
                .all(|byte| is_word(byte) || b".-".contains(&byte));
        if is_tag {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadTag(shortened(text)))
        }
    }

    /// Returns the tag that runtimes use where none is given.
    pub fn latest() -> Self {
        Self("latest".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One manifest of a repository: by a tag, or by its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagOrDigest {
    Tag(Tag),
    Digest(Digest),
}

/// A text that names no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTagOrDigest {
    #[error(transparent)]
    Tag(#[from] BadTag),
    #[error(transparent)]
    Digest(#[from] BadDigest),
}

impl TagOrDigest {
    /// Reads the last part of a manifest's path. A colon makes it a digest.
    pub fn parse(text: &str) -> Result<Self, BadTagOrDigest> {
        if text.contains(':') {
            Ok(Self::Digest(Digest::parse(text)?))
        } else {
            Ok(Self::Tag(Tag::parse(text)?))
        }
    }
}

impl fmt::Display for TagOrDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn names_that_may_and_may_not_be() {
        for good in ["a", "team/main/artifacts", "a.b_c__d-e---f/0", "a/b/c/d/e"] {
            assert!(RepositoryName::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(256);
        for bad in [
            "", "/", "a/", "/a", "a//b", "..", "a/../b", "A", "a b", "a..b", "a___b", "-a", "a-",
            "_tags", "a/_tags", ".a", "ä", "a%2fb", "a\\b", "a\0", &long,
        ] {
            assert!(RepositoryName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags() {
        let long = "a".repeat(128);
        for good in ["a", "_", "1.2-x", "latest", "V1.0-rc", "0", &long] {
            assert_eq!(Tag::parse(good).unwrap().as_str(), good);
        }
        let longer = format!("{long}a");
        for bad in ["", ".", "..", ".a", "-a", "a/b", "a:b", "a b", "ä", &longer] {
            assert!(Tag::parse(bad).is_err(), "{bad}");
        }
        assert!(Tag::parse(Tag::latest().as_str()).is_ok());
    }

    #[test]
    fn a_colon_makes_a_digest() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for good in ["latest", &digest] {
            assert_eq!(TagOrDigest::parse(good).unwrap().to_string(), good);
        }
        let bad = |text| TagOrDigest::parse(text).unwrap_err();
        assert!(matches!(bad("md5:0"), BadTagOrDigest::Digest(_)));
        assert!(matches!(bad(".."), BadTagOrDigest::Tag(_)));
    }
}
