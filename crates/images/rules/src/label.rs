//! Labels of nodes that have images: one hash for every program that writes or reads such a label.
//!
//! A label is of content (a digest in its repository), never of a tag: while a tag moves, two nodes
//! that both have "it" have different images.

use data_encoding::BASE32_NOPAD;
use sha2::{Digest as _, Sha256};

use airside_oci::Reference;

/// Prefix of all of Airside's labels on nodes, and of no others.
pub const PREFIX: &str = "images.airside.dev/";

/// Value of a node's label of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The image is there, and was verified with the runtime. The only value that pods are placed
    /// by.
    Present,
    /// The image could not be pulled as often as its set allows.
    Error,
}

impl Presence {
    pub fn value(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Error => "error",
        }
    }
}

/// Returns the label of an image: 52 characters behind the prefix, of the 63 that a label may have.
/// A hexadecimal digest of the same hash would have one too many.
pub fn key(image: &Reference) -> String {
    let hash = Sha256::digest(image.to_string());
    format!(
        "{PREFIX}{}",
        BASE32_NOPAD.encode(&hash).to_ascii_lowercase()
    )
}

pub fn is_ours(key: &str) -> bool {
    key.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_label_of_kubernetes() {
        let image: Reference = "busybox:1".parse().unwrap();
        let key = key(&image);
        let name = key.strip_prefix(PREFIX).unwrap();
        assert_eq!(name.len(), 52);
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        );
        assert!(is_ours(&key) && !is_ours("kubernetes.io/os"));
    }

    #[test]
    fn the_same_image_has_the_same_key_however_it_is_written() {
        let key = |text: &str| super::key(&text.parse().unwrap());
        assert_eq!(key("busybox"), key("docker.io/library/busybox:latest"));
        assert_ne!(key("busybox:1"), key("busybox:2"));
        assert_ne!(key("r.example/busybox:1"), key("busybox:1"));
    }

    #[test]
    fn keys_stay_as_they_are() {
        // Nodes keep labels over versions of Airside: a change here makes all of them lies.
        let image: Reference = "busybox:1".parse().unwrap();
        insta::assert_snapshot!(key(&image));
    }
}
