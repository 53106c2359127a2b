//! Pointers from one document to content.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Digest, Platform};

/// A pointer to a manifest, a configuration or a layer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    #[serde(default)]
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "or_empty"
    )]
    pub urls: Vec<String>,
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "or_empty"
    )]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            platform: None,
            urls: Vec::new(),
            annotations: BTreeMap::new(),
        }
    }

    /// Returns true if the content is kept outside the registry, and may not be pushed.
    pub fn is_foreign(&self) -> bool {
        !self.urls.is_empty()
    }
}

/// Reads `null` as empty: encoders of some languages write an empty list so.
pub(crate) fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptors() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, is_foreign) in [
            (json!({"digest": digest}), false),
            (
                json!({"digest": digest, "urls": null, "annotations": null}),
                false,
            ),
            (
                json!({"digest": digest, "size": 3, "urls": ["https://x.example"]}),
                true,
            ),
        ] {
            let read: Descriptor = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(read.is_foreign(), is_foreign, "{text}");
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(serde_json::from_value::<Descriptor>(written).unwrap(), read);
        }
        for bad in [
            json!({}),
            json!({"digest": "sha256:../x"}),
            json!({"digest": digest, "size": -1}),
            json!({"digest": digest, "annotations": {"a": 1}}),
            json!({"digest": digest, "platform": {"os": "linux"}}),
        ] {
            assert!(
                serde_json::from_value::<Descriptor>(bad.clone()).is_err(),
                "{bad}"
            );
        }
    }
}
