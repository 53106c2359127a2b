//! Manifests, their tags, and their referrers.

use std::pin::pin;

use airside_oci::{Digest, MAX_DOCUMENT_BYTES, media_type::OCI_INDEX};
use bytes::Bytes;
use http::{Method, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::json;

use super::{Asked, Registry, accepted};
use crate::{
    Error, RepositoryName, TagOrDigest,
    answer::{RegistryAnswer, empty, json, set, text},
    manifest::Manifest,
};

impl Registry {
    pub(super) async fn manifest<B>(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        reference: TagOrDigest,
        body: B,
    ) -> Result<RegistryAnswer, Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        match *asked.method {
            Method::GET | Method::HEAD => {
                let found = self.blocking(move |store| store.manifest(&repository, &reference));
                let found = found.await?;
                let mut answer = text(StatusCode::OK, &found.media_type, found.text);
                set(&mut answer, "docker-content-digest", &found.digest);
                Ok(answer)
            }
            Method::DELETE => {
                let deleted =
                    self.blocking(move |store| store.delete_manifest(&repository, &reference));
                deleted.await.map(|()| accepted())
            }
            Method::PUT => {
                let body = read(body).await?;
                self.put_manifest(asked, repository, reference, body).await
            }
            _ => Err(Error::Unsupported),
        }
    }

    async fn put_manifest(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        reference: TagOrDigest,
        body: Bytes,
    ) -> Result<RegistryAnswer, Error> {
        let kind = asked.header(header::CONTENT_TYPE).unwrap_or_default();
        let manifest = Manifest::parse(&body, kind)?;
        let subject = manifest.subject.clone();
        let name = repository.clone();
        let put = self.blocking(move |store| {
            store.has_room()?;
            store.put_manifest(&repository, &reference, &body, &manifest)
        });
        let digest = put.await?;
        tracing::info!(repository = %name, image = %digest, "image pushed");
        let mut answer = empty(StatusCode::CREATED);
        set(
            &mut answer,
            "location",
            format!("/v2/{name}/manifests/{digest}"),
        );
        set(&mut answer, "docker-content-digest", digest);
        if let Some(subject) = subject {
            set(&mut answer, "oci-subject", subject);
        }
        Ok(answer)
    }

    /// All of them, or `n` of those after `last`.
    pub(super) async fn tags(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
    ) -> Result<RegistryAnswer, Error> {
        let name = repository.clone();
        let mut tags = self.blocking(move |store| store.tags(&repository)).await?;
        if let Some(last) = asked.query("last") {
            tags.retain(|tag| *tag > last);
        }
        let most = asked.query("n").and_then(|n| n.parse::<usize>().ok());
        let is_cut = most.is_some_and(|most| tags.len() > most);
        tags.truncate(most.unwrap_or(usize::MAX));
        let body = json!({"name": name.as_str(), "tags": tags});
        let mut answer = json(StatusCode::OK, "application/json", &body);
        if let (true, Some(most), Some(last)) = (is_cut, most, tags.last()) {
            let next = format!("</v2/{name}/tags/list?n={most}&last={last}>; rel=\"next\"");
            set(&mut answer, "link", next);
        }
        Ok(answer)
    }

    pub(super) async fn referrers(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        subject: Digest,
    ) -> Result<RegistryAnswer, Error> {
        let found = self.blocking(move |store| store.referrers(&repository, &subject));
        let mut found = found.await?;
        let wanted = asked.query("artifactType");
        if let Some(wanted) = &wanted {
            found.retain(|referrer| referrer.artifact_type.as_ref() == Some(wanted));
        }
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": found});
        let mut answer = json(StatusCode::OK, OCI_INDEX, &index);
        if wanted.is_some() {
            set(&mut answer, "oci-filters-applied", "artifactType");
        }
        Ok(answer)
    }
}

async fn read<B>(body: B) -> Result<Bytes, Error>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::error::Error,
{
    let mut body = pin!(body);
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Cut(airside_model::chain(&error)))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if text.len() + data.len() > MAX_DOCUMENT_BYTES {
            return Err(Error::TooLarge(MAX_DOCUMENT_BYTES));
        }
        text.extend_from_slice(&data);
    }
    Ok(text.into())
}
