//! Copies images before anybody asks for them, for all platforms that are wanted, byte by byte.
//!
//! It asks as anybody: a mirror has no login. What only some may pull comes with the first of them who does.

use airside_image_rules::{Reference, Repository, Which};
use airside_model::image::Digest;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde::Deserialize;

use crate::{Asked, Caller, Mirror, What, serve::Request};

/// What to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub image: Reference,
    /// Such as linux/amd64; all that there are if nothing is said.
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

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: Digest,
    platform: Option<Platform>,
    /// A layer that is somewhere else.
    #[serde(default)]
    urls: Vec<String>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl Platform {
    fn is(&self, wanted: &str) -> bool {
        let short = format!("{}/{}", self.os, self.architecture);
        let long = self
            .variant
            .as_ref()
            .map(|variant| format!("{short}/{variant}"));
        wanted == short || long.is_some_and(|long| long == wanted)
    }
}

impl Mirror {
    /// Returns when all of it is kept.
    pub async fn copy(&self, ahead: &Ahead) -> Result<(), AheadError> {
        let repository = ahead.image.repository();
        let first = self
            .manifest(repository, ahead.image.which().clone())
            .await?;
        let mut images = vec![first];
        while let Some(document) = images.pop() {
            let wanted = document
                .manifests
                .iter()
                .filter(|it| is_wanted(it, &ahead.platforms));
            for child in wanted {
                let which = Which::Digest(child.digest.clone());
                images.push(self.manifest(repository, which).await?);
            }
            let blobs = document.config.iter().chain(&document.layers);
            for blob in blobs.filter(|blob| blob.urls.is_empty()) {
                self.drain(repository, What::Blob(blob.digest.clone()))
                    .await?;
            }
        }
        Ok(())
    }

    async fn manifest(
        &self,
        repository: &Repository,
        which: Which,
    ) -> Result<Document, AheadError> {
        let image = repository.with(which.clone()).to_string();
        let text = self.drain(repository, What::Manifest(which)).await?;
        serde_json::from_slice(&text).map_err(|error| AheadError::Manifest {
            image,
            why: error.to_string(),
        })
    }

    /// As a caller would, to the end; what is large is not held.
    async fn drain(&self, repository: &Repository, what: What) -> Result<Bytes, AheadError> {
        let is_blob = matches!(what, What::Blob(_));
        let asked = Asked {
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
                why: error.to_string(),
            })?;
            if let (Ok(piece), false) = (frame.into_data(), is_blob) {
                text.extend_from_slice(&piece);
            }
        }
        Ok(text.into())
    }
}

/// What has no platform is no image of a machine that is not wanted.
fn is_wanted(descriptor: &Descriptor, platforms: &[String]) -> bool {
    let Some(platform) = &descriptor.platform else {
        return true;
    };
    platforms.is_empty() || platforms.iter().any(|wanted| platform.is(wanted))
}
