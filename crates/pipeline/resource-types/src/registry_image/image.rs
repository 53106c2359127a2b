//! One image of a registry: its manifest, and what its configuration says.

use airside_oci::{
    Descriptor, Digest, Document, ImageConfig, Index, MAX_INDEX_DEPTH, Manifest, Platform,
};

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

/// The image for a platform that a digest leads to, or the first one for Linux where there is none.
pub(super) fn resolve_rather(
    registry: &Registry,
    digest: &Digest,
    platform: &Platform,
) -> Result<Image, Failure> {
    let choose = |index: &Index| {
        index
            .for_platform(platform)
            .or_else(|| index.manifests.iter().find(|found| is_linux(found)))
            .cloned()
            .ok_or_else(|| "linux".to_owned())
    };
    walk(registry, digest, choose, |_, _| {})
}

fn is_linux(found: &Descriptor) -> bool {
    let platform = found.platform.as_ref();
    platform.is_some_and(|platform| platform.os == "linux")
}

/// The image for a platform that a digest leads to; `seen` gets each document on the way.
pub(super) fn follow(
    registry: &Registry,
    digest: &Digest,
    platform: &Platform,
    seen: impl FnMut(&Digest, &[u8]),
) -> Result<Image, Failure> {
    let choose = |index: &Index| {
        let found = index.for_platform(platform).cloned();
        found.ok_or_else(|| platform.to_string())
    };
    walk(registry, digest, choose, seen)
}

/// Goes from index to index until an image is reached. `choose` names the platform that it misses.
fn walk(
    registry: &Registry,
    digest: &Digest,
    choose: impl Fn(&Index) -> Result<Descriptor, String>,
    mut seen: impl FnMut(&Digest, &[u8]),
) -> Result<Image, Failure> {
    let mut digest = digest.clone();
    for _ in 0..MAX_INDEX_DEPTH {
        let what = digest.to_string();
        let Some((_, bytes)) = registry.manifest(&what)? else {
            return Err(Failure::no_image(what));
        };
        seen(&digest, &bytes);
        match parse_document(&bytes, &what)? {
            Document::Manifest(manifest) => {
                return Ok(Image { manifest });
            }
            Document::Index(index) => {
                let missing = |platform| format!("{what} has no image for {platform}");
                digest = choose(&index)
                    .map_err(|platform| Failure::said(missing(platform)))?
                    .digest;
            }
        }
    }
    Err(Failure::said(format!(
        "the indexes of {digest} lead nowhere"
    )))
}
