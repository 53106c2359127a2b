//! Versions of resources and the metadata that comes with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A version is what its key-value pairs say, in no order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub BTreeMap<String, String>);

impl Version {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every pair of `pin` is in this version.
    pub fn contains(&self, pin: &Version) -> bool {
        pin.0
            .iter()
            .all(|(key, value)| self.0.get(key) == Some(value))
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
