//! The JSON documents of images, as far as we read them.

use std::{collections::BTreeMap, fmt};

use airside_model::image::Digest;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use crate::Failure;

/// Characters of an error about a document.
const MOST_WORDS: usize = 160;

/// What bytes are called.
pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::of_sha256(Sha256::digest(bytes).into())
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    #[serde(default)]
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Platform {
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default)]
    pub(crate) os: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
}

impl Platform {
    /// This machine's, in the words that images use.
    pub(crate) fn here() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            architecture: architecture.to_owned(),
            os: "linux".to_owned(),
            variant: None,
        }
    }

    /// Whether both are of one system and architecture; what its variant is, nobody asks for.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.os, &self.architecture) == (&other.os, &other.architecture)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    #[serde(default)]
    pub(crate) schema_version: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) media_type: String,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// The bytes that its configuration and layers say they have, if that is a number.
    pub(crate) fn size(&self) -> Option<u64> {
        let blobs = self.layers.iter().chain([&self.config]);
        blobs.map(|blob| blob.size).try_fold(0, u64::checked_add)
    }

    /// Refuses an image that says it is larger than this.
    pub(crate) fn at_most(&self, bytes: u64) -> Result<(), Failure> {
        match self.size() {
            Some(size) if size <= bytes => Ok(()),
            Some(size) => Err(Failure::said(format!(
                "the image has {size} bytes, and there is room for {bytes}"
            ))),
            None => Err(Failure::said(
                "the image has more bytes than can be counted",
            )),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Index {
    pub(crate) manifests: Vec<Descriptor>,
}

/// An index, or the one thing an index leads to.
pub(crate) enum Kind {
    Index(Index),
    Manifest(Box<Manifest>),
}

impl Kind {
    pub(crate) fn parse(bytes: &[u8], what: &str) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Any {
            manifests: Option<serde_json::Value>,
            layers: Option<serde_json::Value>,
        }
        let any: Any = parse(bytes, what)?;
        match (any.manifests, any.layers) {
            (Some(_), _) => Ok(Self::Index(parse(bytes, what)?)),
            (None, Some(_)) => Ok(Self::Manifest(parse(bytes, what)?)),
            (None, None) => Err(Failure::said(format!(
                "{what} is of a kind that is no longer used: push it again with a newer program"
            ))),
        }
    }
}

/// The words of an error, which may repeat what a stranger's server sent, cut short.
fn brief(error: &serde_json::Error) -> String {
    error.to_string().chars().take(MOST_WORDS).collect()
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::said(format!("{what} cannot be read: {}", brief(&error))))
}
