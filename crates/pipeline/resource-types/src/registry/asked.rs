//! Questions to a registry from other parts than resource types: the digest of a tag, its
//! platforms, and the list of tags.
//!
//! Nothing is fetched but documents, and nothing is written.

use std::collections::BTreeMap;

use airside_blocking_http::{Request, RequestTimeouts};
use airside_oci::{Descriptor, Digest, Document, Manifest, Platform, media_type::ACCEPT_MANIFESTS};

use super::{
    Access, Registry, RequestPause, TagList, parse_config, parse_document, read_repository,
    with_reference,
};
use crate::Failure;

/// Settings for questions to a registry.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    pub login: Option<(String, String)>,
    /// Certificates to trust beside the machine's roots, as PEM.
    pub certificates: Vec<String>,
    /// True if the registry has no TLS.
    pub plain: bool,
    pub patience: RequestTimeouts,
    pub pace: RequestPause,
}

/// A repository of a registry that was found to answer.
pub struct AskedRegistry(Registry);

/// The image that a tag or digest stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The registry does not have it.
    Missing,
    /// The image is the one of the earlier answer.
    Same,
    For {
        digest: Digest,
        /// Mark with which the registry can answer that nothing has changed.
        mark: Option<String>,
    },
}

/// The image of one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedImage {
    pub manifest: Digest,
    /// Digest of the configuration, which runtimes use as the image's id.
    pub config: Digest,
    /// Bytes of its layers, as they are fetched.
    pub size: u64,
}

impl AskedRegistry {
    /// `repository` is a name without a tag.
    pub fn connect(repository: &str, asking: Asking) -> Result<Self, Failure> {
        let access = Access {
            user: asking.login,
            certificates: asking.certificates,
            plain: asking.plain,
            patience: asking.patience,
            pace: asking.pace,
            ..Access::default()
        };
        Registry::connect(read_repository(repository)?, access).map(Self)
    }

    /// Returns the image that a tag or digest stands for now, by a request that fetches nothing.
    /// `mark` is from an earlier answer.
    pub fn standing(&self, reference: &str, mark: Option<&str>) -> Result<Standing, Failure> {
        let address = self.0.url(&format!("manifests/{reference}"))?;
        let mut request = Request::new("HEAD", address).header("Accept", ACCEPT_MANIFESTS);
        if let Some(mark) = mark {
            request = request.header("If-None-Match", mark);
        }
        let response = self.0.send(request)?;
        let mark = response.header("etag").map(str::to_owned);
        let found = response.header("docker-content-digest").map(Digest::parse);
        match (response.status, found) {
            (304, _) => {
                self.0.client.done(response);
                Ok(Standing::Same)
            }
            (404, _) => Ok(Standing::Missing),
            (200..300, Some(digest)) => {
                self.0.client.done(response);
                let digest = digest?;
                Ok(Standing::For { digest, mark })
            }
            (401 | 403 | 429 | 500.., _) => {
                let what = with_reference(&self.0.repository, reference);
                let refused = response.success("HEAD").map(|_| Standing::Missing);
                refused.map_err(|error| self.0.explain(error, &what))
            }
            // Not every registry says it in the head, or knows HEAD.
            _ => Ok(match self.0.manifest(reference)? {
                Some((digest, _)) => Standing::For { digest, mark },
                None => Standing::Missing,
            }),
        }
    }

    /// The images that a digest stands for, by platforms (`os/architecture`, or with a variant)
    /// that are wanted; one that it has none for is left out.
    pub fn images(
        &self,
        digest: &Digest,
        wanted: &[String],
    ) -> Result<BTreeMap<String, AskedImage>, Failure> {
        let what = digest.to_string();
        match parse_document(&self.stored(digest)?, &what)? {
            Document::Manifest(manifest) => {
                let config = self.0.document(&manifest.config.digest)?;
                let platform = parse_config(&config, &what)?.platform();
                let fits = |wanted: &&String| {
                    let platform = platform.as_ref();
                    wanted
                        .parse()
                        .is_ok_and(|it| platform.is_some_and(|found| found.satisfies(&it)))
                };
                let image = AskedImage::of(digest, &manifest);
                let found = wanted
                    .iter()
                    .filter(fits)
                    .map(|name| (name.clone(), image.clone()));
                Ok(found.collect())
            }
            Document::Index(index) => {
                let mut images = BTreeMap::new();
                for name in wanted {
                    let Some(found) = name
                        .parse()
                        .ok()
                        .and_then(|it| choose(&index.manifests, &it))
                    else {
                        continue;
                    };
                    let bytes = self.stored(&found.digest)?;
                    let name_below = found.digest.to_string();
                    let Document::Manifest(manifest) = parse_document(&bytes, &name_below)? else {
                        return Err(Failure::said(format!("{name_below} is not an image")));
                    };
                    images.insert(name.clone(), AskedImage::of(&found.digest, &manifest));
                }
                Ok(images)
            }
        }
    }

    /// All tags, however many pages they fill. `before` is an earlier answer: what is still the
    /// same is not sent again.
    pub fn tags(&self, before: &TagList) -> Result<TagList, Failure> {
        self.0.tag_list(before)
    }

    fn stored(&self, digest: &Digest) -> Result<Vec<u8>, Failure> {
        let what = digest.to_string();
        let found = self.0.manifest(&what)?;
        let missing = || {
            Failure::said(format!(
                "{} is gone",
                with_reference(&self.0.repository, &what)
            ))
        };
        found.map(|(_, bytes)| bytes).ok_or_else(missing)
    }
}

impl AskedImage {
    fn of(digest: &Digest, manifest: &Manifest) -> Self {
        Self {
            manifest: digest.clone(),
            config: manifest.config.digest.clone(),
            size: manifest
                .layers
                .iter()
                .fold(0, |sum, layer| sum.saturating_add(layer.size)),
        }
    }
}

/// The one with the newest variant, if there are several: nodes do not say which they are, and new
/// ones are many.
fn choose<'a>(manifests: &'a [Descriptor], wanted: &Platform) -> Option<&'a Descriptor> {
    let fitting = manifests.iter().filter(|found| {
        let platform = found.platform.as_ref();
        platform.is_some_and(|platform| platform.satisfies(wanted))
    });
    fitting.max_by_key(|found| {
        found
            .platform
            .as_ref()
            .and_then(|platform| platform.variant.clone())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn platforms_with_and_without_variants() {
        let digest = |number: u8| format!("sha256:{number:064x}");
        let manifests: Vec<Descriptor> = serde_json::from_value(json!([
            {"digest": digest(1), "platform": {"os": "linux", "architecture": "amd64"}},
            {"digest": digest(2), "platform": {"os": "linux", "architecture": "arm", "variant": "v6"}},
            {"digest": digest(3), "platform": {"os": "linux", "architecture": "arm", "variant": "v7"}},
            {"digest": digest(4), "platform": {"os": "unknown", "architecture": "unknown"}},
        ]))
        .unwrap();
        for (wanted, expected) in [
            ("linux/amd64", Some(1)),
            ("linux/arm", Some(3)),
            ("linux/arm/v6", Some(2)),
            ("linux/arm/v5", None),
            ("windows/amd64", None),
        ] {
            let found = choose(&manifests, &wanted.parse().unwrap());
            let found = found.map(|found| found.digest.to_string());
            assert_eq!(found, expected.map(digest), "{wanted}");
        }
        assert!("linux".parse::<Platform>().is_err());
    }
}
