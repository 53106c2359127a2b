//! A manifest, as far as a registry must understand it: what it needs, and what it is about.

use airside_rootfs::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Error;

/// More than any image in use has; a manifest is read into memory.
pub(crate) const LARGEST: usize = 4 << 20;

const KINDS: [&str; 4] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

pub(crate) struct Manifest {
    pub(crate) media_type: String,
    /// What must be in the repository before it.
    pub(crate) blobs: Vec<Digest>,
    pub(crate) manifests: Vec<Digest>,
    /// What it says something about.
    pub(crate) subject: Option<Digest>,
    artifact_type: Option<String>,
    annotations: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
    subject: Option<Descriptor>,
    artifact_type: Option<String>,
    annotations: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: Digest,
    /// A layer that is somewhere else and may not be pushed.
    #[serde(default)]
    urls: Vec<String>,
}

/// How a list of referrers names one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Referrer {
    media_type: String,
    size: u64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Map<String, Value>>,
}

impl Manifest {
    /// `kind` is what the client, or an earlier call, says it is.
    pub(crate) fn parse(text: &[u8], kind: &str) -> Result<Self, Error> {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !KINDS.contains(&kind) {
            return Err(Error::Manifest(format!("{kind:?} is no kind of manifest")));
        }
        let read = serde_json::from_slice::<Document>(text);
        let document = read.map_err(|error| Error::Manifest(error.to_string()))?;
        if document
            .media_type
            .as_deref()
            .is_some_and(|own| own != kind)
        {
            let words = format!("it says that it is something else than {kind}");
            return Err(Error::Manifest(words));
        }
        let artifact_type = match (&document.artifact_type, &document.config) {
            (Some(type_), _) => Some(type_.clone()),
            (None, Some(config)) => Some(config.media_type.clone()),
            (None, None) => None,
        };
        let own = document.layers.into_iter();
        let own = own.filter(|layer| layer.urls.is_empty());
        let digest = |descriptor: Descriptor| descriptor.digest;
        Ok(Self {
            media_type: kind.to_owned(),
            blobs: document.config.into_iter().chain(own).map(digest).collect(),
            manifests: document.manifests.into_iter().map(digest).collect(),
            subject: document.subject.map(digest),
            artifact_type: artifact_type.filter(|type_| !type_.is_empty()),
            annotations: document.annotations,
        })
    }

    pub(crate) fn referrer(self, digest: &Digest, size: u64) -> Referrer {
        Referrer {
            media_type: self.media_type,
            size,
            digest: digest.to_string(),
            artifact_type: self.artifact_type,
            annotations: self.annotations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_needs() {
        let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
        let text = serde_json::json!({
            "config": {"mediaType": "c", "digest": digest("a"), "size": 1},
            "layers": [{"digest": digest("b")}, {"digest": digest("c"), "urls": ["https://x.example"]}],
            "subject": {"digest": digest("d")},
        });
        let manifest =
            Manifest::parse(text.to_string().as_bytes(), &format!("{}; x=y", KINDS[0])).unwrap();
        let found: Vec<String> = manifest.blobs.iter().map(ToString::to_string).collect();
        assert_eq!(found, [digest("a"), digest("b")]);
        assert_eq!(manifest.subject.unwrap().to_string(), digest("d"));
        assert_eq!(manifest.artifact_type.as_deref(), Some("c"));
    }

    #[test]
    fn what_is_none() {
        for (text, kind) in [
            ("{}", "text/plain"),
            ("", KINDS[0]),
            ("[]", KINDS[0]),
            (r#"{"layers": [{"digest": "../x"}]}"#, KINDS[0]),
            (r#"{"mediaType": "other"}"#, KINDS[1]),
        ] {
            assert!(Manifest::parse(text.as_bytes(), kind).is_err(), "{text}");
        }
    }
}
