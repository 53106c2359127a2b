//! Manifests and indexes.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use crate::{Descriptor, Platform, descriptor::or_empty, media_type, shortened};

/// Bytes of a manifest or an index; registries take no larger ones.
pub const MAX_DOCUMENT_BYTES: usize = 4 << 20;
/// Entries of a manifest or an index; beyond any in use.
pub const MAX_DESCRIPTORS: usize = 4096;
/// Indexes on the way from a name to an image.
pub const MAX_INDEX_DEPTH: u32 = 4;

/// An index, or an image that an index leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Index(Index),
    Manifest(Manifest),
}

/// A list of images, one for each platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub media_type: Option<String>,
    pub manifests: Vec<Descriptor>,
    pub subject: Option<Descriptor>,
    pub artifact_type: Option<String>,
    pub annotations: BTreeMap<String, String>,
}

/// An image: its configuration and its layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub media_type: Option<String>,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
    /// The manifest that this one says something about.
    pub subject: Option<Descriptor>,
    pub artifact_type: Option<String>,
    pub annotations: BTreeMap<String, String>,
}

/// The reason for which a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    #[error("the document has {0} bytes; at most {MAX_DOCUMENT_BYTES} are read")]
    TooLarge(usize),
    #[error("the document lists {0} things; at most {MAX_DESCRIPTORS} are read")]
    TooMany(usize),
    #[error("the document cannot be read: {0}")]
    Unreadable(String),
    #[error("the document is of a kind that is no longer used: push it again with a newer program")]
    Outdated,
    #[error("the document is an image and an index at once")]
    Ambiguous,
    #[error("the document says that it is {0:?}, and its content is of another kind")]
    OtherKind(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    media_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    artifact_type: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    annotations: BTreeMap<String, String>,
}

impl Document {
    /// Reads a manifest or an index. One that could be taken for either is refused: two readers
    /// would see two images under one digest.
    pub fn parse(text: &[u8]) -> Result<Self, BadDocument> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(BadDocument::TooLarge(text.len()));
        }
        let fields: Fields = read_json(text)?;
        let document = match (fields.manifests, fields.layers, fields.config) {
            (Some(manifests), None, None) => Self::Index(Index {
                media_type: fields.media_type,
                manifests,
                subject: fields.subject,
                artifact_type: fields.artifact_type,
                annotations: fields.annotations,
            }),
            (None, Some(layers), Some(config)) => Self::Manifest(Manifest {
                media_type: fields.media_type,
                config,
                layers,
                subject: fields.subject,
                artifact_type: fields.artifact_type,
                annotations: fields.annotations,
            }),
            (Some(_), _, _) => return Err(BadDocument::Ambiguous),
            (None, None, None) => return Err(BadDocument::Outdated),
            (None, ..) => {
                let words = "an image has a configuration and layers";
                return Err(BadDocument::Unreadable(words.to_owned()));
            }
        };
        document.check()?;
        Ok(document)
    }

    /// Reads a document whose media type is known from elsewhere, such as a `Content-Type`.
    pub fn parse_as(text: &[u8], media_type: &str) -> Result<Self, BadDocument> {
        let document = Self::parse(text)?;
        let is_kind = match &document {
            Self::Index(_) => media_type::is_index(media_type),
            Self::Manifest(_) => media_type::is_manifest(media_type),
        };
        let is_named = document.media_type().is_none_or(|own| own == media_type);
        if is_kind && is_named {
            Ok(document)
        } else {
            Err(BadDocument::OtherKind(shortened(media_type)))
        }
    }

    /// Returns the media type that the document names itself.
    pub fn media_type(&self) -> Option<&str> {
        match self {
            Self::Index(index) => index.media_type.as_deref(),
            Self::Manifest(manifest) => manifest.media_type.as_deref(),
        }
    }

    /// Returns the media type that the document names, or that of its kind.
    pub fn kind(&self) -> &str {
        let default = match self {
            Self::Index(_) => media_type::OCI_INDEX,
            Self::Manifest(_) => media_type::OCI_MANIFEST,
        };
        self.media_type().unwrap_or(default)
    }

    fn check(&self) -> Result<(), BadDocument> {
        let (count, is_other) = match self {
            Self::Index(index) => (index.manifests.len(), media_type::is_manifest(self.kind())),
            Self::Manifest(manifest) => {
                (manifest.layers.len() + 1, media_type::is_index(self.kind()))
            }
        };
        if count > MAX_DESCRIPTORS {
            return Err(BadDocument::TooMany(count));
        }
        if is_other {
            return Err(BadDocument::OtherKind(shortened(self.kind())));
        }
        Ok(())
    }
}

impl Index {
    /// Returns the first entry for a platform. An entry without a platform is for any.
    pub fn for_platform(&self, wanted: &Platform) -> Option<&Descriptor> {
        let fits = |found: &&Descriptor| {
            let platform = found.platform.as_ref();
            platform.is_none_or(|platform| platform.is_like(wanted))
        };
        self.manifests.iter().find(fits)
    }
}

impl Manifest {
    /// Returns the layers and the configuration.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        self.layers.iter().chain([&self.config])
    }

    /// Returns the bytes that the layers and the configuration declare; `None` if they are more
    /// than a number holds.
    pub fn size(&self) -> Option<u64> {
        self.blobs()
            .map(|blob| blob.size)
            .try_fold(0, u64::checked_add)
    }
}

/// Reads a JSON object. The error may repeat a stranger's text, and is cut short for that.
pub(crate) fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, BadDocument> {
    // The derived readers would take a list of the fields' values too.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(BadDocument::Unreadable(
            "it is not a JSON object".to_owned(),
        ));
    }
    serde_json::from_slice(text)
        .map_err(|error| BadDocument::Unreadable(shortened(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn digest(letter: &str) -> String {
        format!("sha256:{}", letter.repeat(64))
    }

    fn parse(text: &Value) -> Result<Document, BadDocument> {
        Document::parse(text.to_string().as_bytes())
    }

    #[test]
    fn images_and_indexes() {
        let image = json!({
            "schemaVersion": 2, "mediaType": media_type::DOCKER_MANIFEST,
            "config": {"digest": digest("a"), "size": 2}, "layers": [{"digest": digest("b"), "size": 3}],
        });
        let Ok(Document::Manifest(manifest)) = parse(&image) else {
            panic!("no image");
        };
        assert_eq!(manifest.size(), Some(5));
        assert_eq!(parse(&image).unwrap().kind(), media_type::DOCKER_MANIFEST);
        let index = json!({"manifests": [
            {"digest": digest("a"), "platform": {"os": "linux", "architecture": "arm64"}},
            {"digest": digest("b"), "platform": {"os": "linux", "architecture": "amd64"}},
            {"digest": digest("c")},
        ]});
        let document = parse(&index).unwrap();
        assert_eq!(document.kind(), media_type::OCI_INDEX);
        let Document::Index(index) = document else {
            panic!("no index");
        };
        for (platform, expected) in [
            ("linux/arm64", digest("a")),
            ("linux/amd64/v3", digest("b")),
            ("plan9/mips", digest("c")),
        ] {
            let found = index.for_platform(&platform.parse().unwrap()).unwrap();
            assert_eq!(found.digest.to_string(), expected, "{platform}");
        }
    }

    #[test]
    fn documents_that_are_refused() {
        let one = json!({"digest": digest("a")});
        let many = vec![one.clone(); MAX_DESCRIPTORS + 1];
        let huge = json!({"digest": digest("a"), "size": u64::MAX});
        let kind = media_type::OCI_INDEX;
        for (text, expected) in [
            (json!({}), "no longer used"),
            (
                json!({"schemaVersion": 1, "fsLayers": []}),
                "no longer used",
            ),
            (json!({"layers": []}), "has a configuration"),
            (json!({"config": one}), "has a configuration"),
            (
                json!({"config": one, "layers": null}),
                "has a configuration",
            ),
            (json!({"manifests": [], "layers": []}), "at once"),
            (json!({"manifests": [], "config": one}), "at once"),
            (
                json!({"config": one, "layers": [], "mediaType": kind}),
                "of another kind",
            ),
            (json!({"manifests": many}), "lists 4097"),
            (json!({"manifests": [{"digest": "../x"}]}), "cannot be read"),
            (json!([]), "cannot be read"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.len() < 300, "{error}");
        }
        let long = vec![b' '; MAX_DOCUMENT_BYTES + 1];
        assert_eq!(
            Document::parse(&long),
            Err(BadDocument::TooLarge(long.len()))
        );
        let deep = "[".repeat(100_000);
        assert!(Document::parse(deep.as_bytes()).is_err());
        let Document::Manifest(countless) =
            parse(&json!({"config": huge, "layers": [huge]})).unwrap()
        else {
            panic!("no image");
        };
        assert_eq!(countless.size(), None);
    }

    #[test]
    fn media_types_agree_with_the_content() {
        let index = json!({"manifests": []}).to_string();
        let named = json!({"manifests": [], "mediaType": media_type::DOCKER_INDEX}).to_string();
        for (text, kind, expected) in [
            (&index, media_type::OCI_INDEX, true),
            (&index, media_type::DOCKER_INDEX, true),
            (&index, media_type::OCI_MANIFEST, false),
            (&index, "text/plain", false),
            (&named, media_type::DOCKER_INDEX, true),
            (&named, media_type::OCI_INDEX, false),
        ] {
            let read = Document::parse_as(text.as_bytes(), kind);
            assert_eq!(read.is_ok(), expected, "{text} as {kind}");
        }
    }
}
