//! The JSON documents of an image, as far as we read them.

use airside_model::image::Digest;
use serde::Deserialize;

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
