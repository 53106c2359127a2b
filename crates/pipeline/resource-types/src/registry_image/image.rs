//! One image of a registry: its manifest, and what its configuration says.

use airside_oci::{Digest, Document, ImageConfig, MAX_INDEX_DEPTH, Manifest, Platform};

use crate::{
    Failure,
    registry::{Registry, parse_config, parse_document},
};

pub(super) struct Image {
    pub(super) manifest: Manifest,
}

impl Image {
    /// Fetches the configuration.
    pub(super) fn config(&self, registry: &Registry) -> Result<ImageConfig, Failure> {
        let bytes = registry.document(&self.manifest.config.digest)?;
        parse_config(&bytes, "the image's configuration")
    }
}

/// The image for a platform that a digest leads to.
pub(super) fn resolve(
    registry: &Registry,
    digest: &Digest,
    platform: &Platform,
) -> Result<Image, Failure> {
    follow(registry, digest, platform, |_, _| {})
}

/// The image for a platform that a digest leads to; `seen` gets each document on the way.
pub(super) fn follow(
    registry: &Registry,
    digest: &Digest,
    platform: &Platform,
    mut seen: impl FnMut(&Digest, &[u8]),
) -> Result<Image, Failure> {
    let mut digest = digest.clone();
    for _ in 0..MAX_INDEX_DEPTH {
        let what = digest.to_string();
        let Some((_, bytes)) = registry.manifest(&what)? else {
            return Err(Failure::said(format!("the registry has no image {what}")));
        };
        seen(&digest, &bytes);
        match parse_document(&bytes, &what)? {
            Document::Manifest(manifest) => {
                return Ok(Image {
                    manifest: *manifest,
                });
            }
            Document::Index(index) => {
                digest = index
                    .for_platform(platform)
                    .ok_or_else(|| Failure::said(format!("{what} has no image for {platform}")))?
                    .digest
                    .clone();
            }
        }
    }
    Err(Failure::said(format!(
        "the indexes of {digest} lead nowhere"
    )))
}
