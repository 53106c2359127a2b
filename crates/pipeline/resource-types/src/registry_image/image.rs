//! One image of a registry: its manifest, and what its configuration says.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Failure,
    registry::{Descriptor, Digest, Kind, Manifest, Platform, Registry},
};

/// An index may lead to another, but not for ever.
pub(super) const MAX_DEPTH: u32 = 4;

pub(super) struct Image {
    pub(super) manifest: Manifest,
}

/// The settings of an image.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) config: Settings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Settings {
    pub(super) env: Option<Vec<String>>,
    pub(super) user: Option<String>,
    pub(super) cmd: Option<Vec<String>>,
    pub(super) entrypoint: Option<Vec<String>>,
    pub(super) labels: Option<BTreeMap<String, String>>,
}

impl Image {
    pub(super) fn config<T: DeserializeOwned>(&self, registry: &Registry) -> Result<T, Failure> {
        let bytes = registry.document(&self.manifest.config.digest)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::said(format!("the image's configuration cannot be read: {error}"))
        })
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
    let choose = |manifests: &[Descriptor]| {
        choose(manifests, platform)
            .or_else(|| manifests.iter().find(|found| is_linux(found)))
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
    let choose = |manifests: &[Descriptor]| {
        let found = choose(manifests, platform).cloned();
        found.ok_or_else(|| platform.to_string())
    };
    walk(registry, digest, choose, seen)
}

/// Goes from index to index until an image is reached. `choose` names the platform that it misses.
fn walk(
    registry: &Registry,
    digest: &Digest,
    choose: impl Fn(&[Descriptor]) -> Result<Descriptor, String>,
    mut seen: impl FnMut(&Digest, &[u8]),
) -> Result<Image, Failure> {
    let mut digest = digest.clone();
    for _ in 0..MAX_DEPTH {
        let what = digest.to_string();
        let Some((_, bytes)) = registry.manifest(&what)? else {
            return Err(Failure::said(format!("the registry has no image {what}")));
        };
        seen(&digest, &bytes);
        match Kind::parse(&bytes, &what)? {
            Kind::Manifest(manifest) => {
                return Ok(Image {
                    manifest: *manifest,
                });
            }
            Kind::Index(index) => {
                let missing = |platform| format!("{what} has no image for {platform}");
                digest = choose(&index.manifests)
                    .map_err(|platform| Failure::said(missing(platform)))?
                    .digest;
            }
        }
    }
    Err(Failure::said(format!(
        "the indexes of {digest} lead nowhere"
    )))
}

fn choose<'a>(manifests: &'a [Descriptor], platform: &Platform) -> Option<&'a Descriptor> {
    let fits = |found: &&Descriptor| {
        found
            .platform
            .as_ref()
            .is_none_or(|found| found.is_like(platform))
    };
    manifests.iter().find(fits)
}
