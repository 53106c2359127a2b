//! Configurations of images.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{BadDocument, Platform, descriptor::or_empty, document::read_json};

/// The parts of an image's configuration that Airside uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ImageConfig {
    pub architecture: Option<String>,
    pub os: Option<String>,
    pub variant: Option<String>,
    pub created: Option<String>,
    #[serde(deserialize_with = "or_empty")]
    pub config: ImageSettings,
}

/// Defaults of an image for its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImageSettings {
    pub env: Option<Vec<String>>,
    pub user: Option<String>,
    pub cmd: Option<Vec<String>>,
    pub entrypoint: Option<Vec<String>>,
    pub labels: Option<BTreeMap<String, String>>,
}

impl ImageConfig {
    /// Reads a configuration. Its caller bounds the bytes: histories make configurations larger
    /// than manifests.
    pub fn parse(text: &[u8]) -> Result<Self, BadDocument> {
        read_json(text)
    }

    /// Returns the platform, if the configuration says all of it.
    pub fn platform(&self) -> Option<Platform> {
        Some(Platform {
            architecture: self.architecture.clone()?,
            os: self.os.clone()?,
            variant: self.variant.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations() {
        for (text, platform, user) in [
            ("{}", None, None),
            (r#"{"config": null, "os": "linux"}"#, None, None),
            (
                r#"{"os": "linux", "architecture": "arm", "variant": "v7", "config": {"User": "1"}}"#,
                Some("linux/arm/v7"),
                Some("1"),
            ),
        ] {
            let config = ImageConfig::parse(text.as_bytes()).unwrap();
            let found = config.platform().map(|platform| platform.to_string());
            assert_eq!(found.as_deref(), platform, "{text}");
            assert_eq!(config.config.user.as_deref(), user, "{text}");
        }
        for bad in [
            "",
            "[]",
            "1",
            r#"{"config": 1}"#,
            r#"{"config": {"Env": "a"}}"#,
        ] {
            assert!(ImageConfig::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
