//! Copies images before a node asks for them, for all wanted platforms, byte by byte.
//!
//! It asks without a login, as a mirror has none. An image that needs one comes with the first
//! caller that has it.

use std::collections::HashSet;

use airside_oci::{
    Descriptor, Document, MAX_INDEX_DEPTH, Platform, Reference, Repository, TagOrDigest,
};
use bytes::Bytes;
use http_body_util::BodyExt as _;

use crate::{AskedThing, Caller, Mirror, What, serve::Request};

/// An image to copy, and its platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub image: Reference,
    /// Platforms such as linux/amd64; all platforms if none is given.
    pub platforms: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum AheadError {
    #[error("{image}: the mirror answered {status}")]
    Refused { image: String, status: u16 },
    #[error("{image}: it broke off ({why})")]
    Broken { image: String, why: String },
    #[error("{image}: its manifest cannot be read ({why})")]
    Manifest { image: String, why: String },
}

impl Mirror {
    /// Returns when all of it is kept.
    pub async fn copy(&self, ahead: &Ahead) -> Result<(), AheadError> {
        let repository = ahead.image.repository();
        let first = self
            .manifest(repository, ahead.image.which().clone())
            .await?;
        let wanted: Vec<Platform> = ahead
            .platforms
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect();
        // A list of platforms that cannot be read is not an empty list.
        let is_any = ahead.platforms.is_empty();
        let mut seen = HashSet::new();
        let mut images = vec![(first, 0)];
        while let Some((document, depth)) = images.pop() {
            match document {
                Document::Manifest(manifest) => {
                    for blob in manifest.blobs().filter(|blob| !blob.is_foreign()) {
                        self.drain(repository, What::Blob(blob.digest.clone()))
                            .await?;
                    }
                }
                Document::Index(_) if depth == MAX_INDEX_DEPTH => {
                    return Err(AheadError::Manifest {
                        image: ahead.image.to_string(),
                        why: "its indexes lead nowhere".to_owned(),
                    });
                }
                Document::Index(index) => {
                    let is_wanted = |it: &&Descriptor| is_any || is_wanted(it, &wanted);
                    for child in index.manifests.iter().filter(is_wanted) {
                        if seen.insert(child.digest.clone()) {
                            let which = TagOrDigest::Digest(child.digest.clone());
                            let below = self.manifest(repository, which).await?;
                            images.push((below, depth + 1));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn manifest(
        &self,
        repository: &Repository,
        which: TagOrDigest,
    ) -> Result<Document, AheadError> {
        let image = repository.with(which.clone()).to_string();
        let text = self.drain(repository, What::Manifest(which)).await?;
        Document::parse(&text).map_err(|error| AheadError::Manifest {
            image,
            why: airside_model::chain(&error),
        })
    }

    /// Reads a thing to its end like a caller, and returns it unless it is large.
    async fn drain(&self, repository: &Repository, what: What) -> Result<Bytes, AheadError> {
        let is_blob = matches!(what, What::Blob(_));
        let asked = AskedThing {
            repository: repository.clone(),
            what,
        };
        let image = format!("{}{}", repository.host(), asked.path());
        let request = Request {
            asked: &asked,
            caller: &Caller::anybody(),
            range: None,
            is_head: false,
        };
        let answer = self.answer(&request).await;
        if !answer.status().is_success() {
            let status = answer.status().as_u16();
            return Err(AheadError::Refused { image, status });
        }
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| AheadError::Broken {
                image: image.clone(),
                why: airside_model::chain(&error),
            })?;
            if let (Ok(piece), false) = (frame.into_data(), is_blob) {
                text.extend_from_slice(&piece);
            }
        }
        Ok(text.into())
    }
}

/// Returns true for an image of a platform that is wanted, and for one without a platform.
fn is_wanted(descriptor: &Descriptor, platforms: &[Platform]) -> bool {
    let Some(platform) = &descriptor.platform else {
        return true;
    };
    platforms.iter().any(|wanted| platform.satisfies(wanted))
}
