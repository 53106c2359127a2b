//! Documents of images, with errors that say which document it is.

use airside_oci::{Document, ImageConfig, Manifest};
use serde::de::DeserializeOwned;

use crate::Failure;

/// Characters of an error about a document.
const MAX_ERROR_CHARS: usize = 160;

/// Reads a manifest or an index.
pub(crate) fn parse_document(bytes: &[u8], what: &str) -> Result<Document, Failure> {
    Document::parse(bytes)
        .map_err(|error| Failure::said(format!("{what}: {}", airside_model::chain(&error))))
}

/// Reads an image's configuration.
pub(crate) fn parse_config(bytes: &[u8], what: &str) -> Result<ImageConfig, Failure> {
    ImageConfig::parse(bytes)
        .map_err(|error| Failure::said(format!("{what}: {}", airside_model::chain(&error))))
}

/// Reads a document that registries alone write.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        // It may repeat what a stranger's server sent.
        let words: String = airside_model::chain(&error)
            .chars()
            .take(MAX_ERROR_CHARS)
            .collect();
        Failure::said(format!("{what} cannot be read: {words}"))
    })
}

/// Refuses an image that declares more than this many bytes.
pub(crate) fn check_size(manifest: &Manifest, bytes: u64) -> Result<(), Failure> {
    match manifest.size() {
        Some(size) if size <= bytes => Ok(()),
        Some(size) => Err(Failure::said(format!(
            "the image has {size} bytes, and there is room for {bytes}"
        ))),
        None => Err(Failure::said(
            "the image has more bytes than can be counted",
        )),
    }
}
