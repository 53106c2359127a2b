//! Versions of resources and the metadata that comes with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// A version is what its key-value pairs say, in no order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub BTreeMap<String, String>);

impl Version {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this version has every pair of `pin`.
    pub fn contains(&self, pin: &Version) -> bool {
        pin.0
            .iter()
            .all(|(key, value)| self.0.get(key) == Some(value))
    }

    /// The bytes of all keys and values.
    fn size(&self) -> usize {
        let pairs = self.0.iter();
        pairs.map(|(key, value)| key.len() + value.len()).sum()
    }

    /// The canonical text by which versions are compared and stored.
    pub fn canonical(&self) -> String {
        serde_json::to_string(&self.0).expect("a map of strings is always JSON")
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for Version {
    fn from(pairs: [(K, V); N]) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataField {
    pub name: String,
    pub value: String,
}

/// The most versions that one check may find.
const MOST_VERSIONS: usize = 100_000;

/// The most bytes that the keys and values of one version may have.
const LARGEST_VERSION: usize = 64 << 10;

/// The most fields that the metadata of one version may have, and the most bytes of all of them.
const MOST_FIELDS: usize = 1000;
const LARGEST_METADATA: usize = 256 << 10;

/// Says why these versions are too many or too large to be kept.
pub fn bounded_versions(versions: &[Version]) -> Result<(), String> {
    if versions.len() > MOST_VERSIONS {
        return Err(format!(
            "the resource found {} versions at once; the limit is {MOST_VERSIONS}. Let it look for fewer, by its source",
            versions.len()
        ));
    }
    let largest = versions.iter().map(Version::size).max().unwrap_or(0);
    if largest > LARGEST_VERSION {
        return Err(format!(
            "the resource gave a version of {}; the limit is {}",
            Bytes(largest as u64),
            Bytes(LARGEST_VERSION as u64)
        ));
    }
    Ok(())
}

/// Cuts metadata off behind the last field that has room; says so if any had none.
pub fn bounded_metadata(metadata: &mut Vec<MetadataField>) -> Option<String> {
    let (given, mut bytes) = (metadata.len(), 0);
    let fits = metadata.iter().take(MOST_FIELDS).take_while(|field| {
        bytes += field.name.len() + field.value.len();
        bytes <= LARGEST_METADATA
    });
    let kept = fits.count();
    metadata.truncate(kept);
    (kept < given).then(|| {
        format!(
            "of {given} fields of metadata {kept} are kept: the limit is {MOST_FIELDS} fields and {}",
            Bytes(LARGEST_METADATA as u64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_versions_are_refused_with_words() {
        let of = |bytes: usize| Version::from([("ref", "x".repeat(bytes))]);
        assert_eq!(bounded_versions(&vec![of(40); 1000]), Ok(()));
        let words = bounded_versions(&[of(1), of(LARGEST_VERSION)]).unwrap_err();
        assert!(words.contains("a version of 64.0 KiB"), "{words}");
        let words = bounded_versions(&vec![of(1); MOST_VERSIONS + 1]).unwrap_err();
        assert!(words.contains("found 100001 versions"), "{words}");
    }

    #[test]
    fn hostile_metadata_is_cut_with_words() {
        let field = |bytes: usize| MetadataField {
            name: "message".to_owned(),
            value: "x".repeat(bytes),
        };
        let mut usual = vec![field(100); 20];
        assert_eq!(bounded_metadata(&mut usual), None);
        assert_eq!(usual.len(), 20);
        let mut large = vec![field(10), field(LARGEST_METADATA), field(10)];
        let words = bounded_metadata(&mut large).unwrap();
        assert!(
            words.contains("of 3 fields of metadata 1 are kept"),
            "{words}"
        );
        assert_eq!(large, [field(10)]);
        let mut many = vec![field(1); MOST_FIELDS + 1];
        assert!(bounded_metadata(&mut many).is_some());
        assert_eq!(many.len(), MOST_FIELDS);
    }
}
