//! Blobs that come: in one request, in pieces, or from another repository.

use airside_oci::{Digest, read_upload_range};
use bytes::Bytes;
use http::{Method, StatusCode, header};

use super::{Asked, Registry};
use crate::{
    Error, RepositoryAccess, RepositoryName,
    answer::{RegistryAnswer, empty, held, set},
};

impl Registry {
    /// Handles POST: the whole blob if its digest is given, a blob that another repository has, or
    /// the beginning of an upload.
    pub(super) async fn begin<B>(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        body: B,
    ) -> Result<RegistryAnswer, Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        if *asked.method != Method::POST {
            return Err(Error::Unsupported);
        }
        if let Some(digest) = asked.query("mount") {
            let digest = Digest::parse(&digest)?;
            if self.mounts(asked, &repository, &digest).await? {
                return Ok(created(&repository, &digest));
            }
        }
        let digest = asked.query("digest").map(|digest| Digest::parse(&digest));
        let digest = digest.transpose()?;
        self.blocking(|store| store.has_room()).await?;
        let file = self.inner.store.fresh();
        let id = self.inner.uploads.begin(&repository, file).await?;
        let Some(digest) = digest else {
            return Ok(progress(StatusCode::ACCEPTED, &repository, &id, 0));
        };
        let finished = self.finish(repository, &id, digest, body).await;
        // The client did not get the upload's name, so it cannot go on with it.
        self.inner.uploads.forget(&id);
        finished
    }

    /// Mounts a blob of another repository. A client that may not pull from there learns nothing of
    /// what is there.
    async fn mounts(
        &self,
        asked: &Asked<'_>,
        to: &RepositoryName,
        digest: &Digest,
    ) -> Result<bool, Error> {
        let Some(from) = asked.query("from") else {
            return Ok(false);
        };
        let from = RepositoryName::parse(&from)?;
        if !asked.grant.allows(RepositoryAccess::Pull, &from) {
            return Ok(false);
        }
        let (to, digest) = (to.clone(), digest.clone());
        self.blocking(move |store| store.mount(&from, &to, &digest))
            .await
    }

    /// Handles a begun upload: GET reports its progress, PATCH adds a piece, PUT ends it, DELETE
    /// gives it up.
    pub(super) async fn upload<B>(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        id: &str,
        body: B,
    ) -> Result<RegistryAnswer, Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        let upload = self.inner.uploads.find(&repository, id).await?;
        match *asked.method {
            Method::GET => {
                let written = upload.lock().await.written();
                Ok(progress(StatusCode::NO_CONTENT, &repository, id, written))
            }
            Method::PATCH => {
                self.blocking(|store| store.has_room()).await?;
                let mut upload = upload.lock().await;
                follows(asked, upload.written())?;
                self.keep_or_forget(id, upload.append(body).await)?;
                let written = upload.written();
                Ok(progress(StatusCode::ACCEPTED, &repository, id, written))
            }
            Method::PUT => {
                follows(asked, upload.lock().await.written())?;
                let digest = Digest::parse(&asked.query("digest").unwrap_or_default())?;
                self.finish(repository, id, digest, body).await
            }
            Method::DELETE => {
                self.inner.uploads.forget(id);
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(Error::Unsupported),
        }
    }

    async fn finish<B>(
        &self,
        repository: RepositoryName,
        id: &str,
        digest: Digest,
        body: B,
    ) -> Result<RegistryAnswer, Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        let found = self.inner.uploads.find(&repository, id).await?;
        let mut upload = found.lock().await;
        self.keep_or_forget(id, upload.append(body).await)?;
        let verified = upload.verify(&digest).await;
        self.inner.uploads.forget(id);
        verified?;
        let (path, name, wanted) = (upload.path().to_owned(), repository.clone(), digest.clone());
        let adopted = self.blocking(move |store| store.adopt(&path, &name, &wanted));
        adopted.await?;
        Ok(created(&repository, &digest))
    }

    /// Keeps an upload whose piece was cut, so that the client can go on, and forgets one that
    /// could not be written.
    fn keep_or_forget(&self, id: &str, appended: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &appended
            && error.is_internal()
        {
            self.inner.uploads.forget(id);
        }
        appended
    }
}

/// Pieces come in order. Who does not say where one belongs means: next.
fn follows(asked: &Asked<'_>, has: u64) -> Result<(), Error> {
    let Some(range) = asked.header(header::CONTENT_RANGE) else {
        return Ok(());
    };
    if read_upload_range(range).is_some_and(|(first, _)| first == has) {
        Ok(())
    } else {
        Err(Error::Piece { has })
    }
}

fn progress(
    status: StatusCode,
    repository: &RepositoryName,
    id: &str,
    written: u64,
) -> RegistryAnswer {
    let mut answer = empty(status);
    set(
        &mut answer,
        "location",
        format!("/v2/{repository}/blobs/uploads/{id}"),
    );
    set(&mut answer, "docker-upload-uuid", id);
    set(&mut answer, "range", held(written));
    answer
}

fn created(repository: &RepositoryName, digest: &Digest) -> RegistryAnswer {
    let mut answer = empty(StatusCode::CREATED);
    set(
        &mut answer,
        "location",
        format!("/v2/{repository}/blobs/{digest}"),
    );
    set(&mut answer, "docker-content-digest", digest);
    answer
}
