//! Blobs that are here, whole or in part.

use std::io::{Seek as _, SeekFrom};

use airside_oci::{ByteRange, Digest};
use futures::TryStreamExt as _;
use http::{Method, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;

use super::{Asked, Registry, accepted};
use crate::{
    Error, RepositoryName,
    answer::{RegistryAnswer, empty, set},
};

/// Number of bytes that are read at once.
const PIECE: usize = 128 << 10;

impl Registry {
    pub(super) async fn blob(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        digest: Digest,
    ) -> Result<RegistryAnswer, Error> {
        match *asked.method {
            Method::GET | Method::HEAD => self.serve_blob(asked, repository, digest).await,
            Method::DELETE => {
                let deleted = self.blocking(move |store| store.delete_blob(&repository, &digest));
                deleted.await.map(|()| accepted())
            }
            _ => Err(Error::Unsupported),
        }
    }

    async fn serve_blob(
        &self,
        asked: &Asked<'_>,
        repository: RepositoryName,
        digest: Digest,
    ) -> Result<RegistryAnswer, Error> {
        let range = asked.header(header::RANGE).map(str::to_owned);
        let wanted = digest.clone();
        let opened = self.blocking(move |store| {
            let (mut file, size) = store.blob(&repository, &wanted)?;
            let part = match range {
                Some(range) => ByteRange::parse(&range, size)?,
                None => None,
            };
            if let Some(part) = part {
                let sought = file.seek(SeekFrom::Start(part.first));
                sought.map_err(|_| Error::NoBlob(repository, wanted))?;
            }
            Ok((file, size, part))
        });
        let (file, size, part) = opened.await?;
        let length = part.map_or(size, ByteRange::length);
        let mut answer = empty(StatusCode::OK);
        if let Some(part) = part {
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(&mut answer, "content-range", part.content_range(size));
        }
        set(&mut answer, "accept-ranges", "bytes");
        set(&mut answer, "content-type", "application/octet-stream");
        set(&mut answer, "content-length", length);
        set(&mut answer, "docker-content-digest", digest);
        if *asked.method == Method::GET {
            let file = tokio::fs::File::from_std(file).take(length);
            let pieces = ReaderStream::with_capacity(file, PIECE).map_ok(Frame::data);
            *answer.body_mut() = StreamBody::new(pieces).boxed_unsync();
        }
        Ok(answer)
    }
}
