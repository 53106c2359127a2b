//! The parts of a manifest that a registry uses: what it needs, and what it is about.

use std::collections::BTreeMap;

use airside_oci::{BadDocument, Descriptor, Digest, Document, media_type};
use serde::Serialize;

use crate::Error;

pub(crate) struct Manifest {
    pub(crate) media_type: String,
    /// Blobs that must be in the repository before the manifest.
    pub(crate) blobs: Vec<Digest>,
    /// Manifests that must be in the repository before an index.
    pub(crate) manifests: Vec<Digest>,
    /// The manifest that this one says something about.
    pub(crate) subject: Option<Digest>,
    artifact_type: Option<String>,
    annotations: BTreeMap<String, String>,
}

/// A manifest in a list of referrers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Referrer {
    media_type: String,
    size: u64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads a manifest or an index. `content_type` is the client's word, or that of an earlier
    /// call.
    pub(crate) fn parse(text: &[u8], content_type: &str) -> Result<Self, Error> {
        let kind = media_type::essence(content_type);
        if !media_type::is_manifest(kind) && !media_type::is_index(kind) {
            return Err(Error::Manifest(format!(
                "{kind:?} is not a kind of manifest"
            )));
        }
        let document = Document::parse_as(text, kind)
            .map_err(|error: BadDocument| Error::Manifest(airside_model::chain(&error)))?;
        let digest = |descriptor: Descriptor| descriptor.digest;
        let (blobs, manifests, subject, artifact_type, annotations) = match document {
            Document::Index(index) => (
                Vec::new(),
                index.manifests.into_iter().map(digest).collect(),
                index.subject,
                index.artifact_type,
                index.annotations,
            ),
            Document::Manifest(image) => {
                let artifact_type = image
                    .artifact_type
                    .or_else(|| Some(image.config.media_type.clone()));
                let layers = image.layers.into_iter().filter(|layer| !layer.is_foreign());
                let blobs = [image.config].into_iter().chain(layers);
                (
                    blobs.map(digest).collect(),
                    Vec::new(),
                    image.subject,
                    artifact_type,
                    image.annotations,
                )
            }
        };
        Ok(Self {
            media_type: kind.to_owned(),
            blobs,
            manifests,
            subject: subject.map(digest),
            artifact_type: artifact_type.filter(|type_| !type_.is_empty()),
            annotations,
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
    use airside_oci::media_type::{OCI_INDEX, OCI_MANIFEST};

    use super::*;

    #[test]
    fn a_manifest_lists_its_needs() {
        let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
        let text = serde_json::json!({
            "config": {"mediaType": "c", "digest": digest("a"), "size": 1},
            "layers": [
                {"digest": digest("b")},
                {"digest": digest("c"), "urls": ["https://x.example"]},
            ],
            "subject": {"digest": digest("d")},
        });
        let kind = format!("{OCI_MANIFEST}; x=y");
        let manifest = Manifest::parse(text.to_string().as_bytes(), &kind).unwrap();
        let found: Vec<String> = manifest.blobs.iter().map(ToString::to_string).collect();
        assert_eq!(found, [digest("a"), digest("b")]);
        assert_eq!(manifest.subject.unwrap().to_string(), digest("d"));
        assert_eq!(manifest.artifact_type.as_deref(), Some("c"));
    }

    #[test]
    fn texts_that_are_no_manifest() {
        for (text, kind) in [
            ("{}", "text/plain"),
            ("{}", OCI_MANIFEST),
            ("", OCI_MANIFEST),
            ("[]", OCI_MANIFEST),
            (r#"{"layers": [{"digest": "../x"}]}"#, OCI_MANIFEST),
            (r#"{"manifests": []}"#, OCI_MANIFEST),
            (r#"{"mediaType": "other"}"#, OCI_INDEX),
            (r#"{"mediaType": "other", "manifests": []}"#, OCI_INDEX),
        ] {
            assert!(Manifest::parse(text.as_bytes(), kind).is_err(), "{text}");
        }
    }
}
