//! The blobs of the runtime's images, as containerd keeps them.

use std::io;

use airside_oci::Digest;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};

use super::{Containerd, ContainerdError};

const CONTENT: &str = "/containerd.services.content.v1.Content/";

#[derive(Clone, PartialEq, prost::Message)]
struct InfoRequest {
    #[prost(string, tag = "1")]
    digest: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct InfoResponse {
    #[prost(message, optional, tag = "1")]
    info: Option<Info>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Info {
    #[prost(string, tag = "1")]
    digest: String,
    #[prost(int64, tag = "2")]
    size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReadRequest {
    #[prost(string, tag = "1")]
    digest: String,
    #[prost(int64, tag = "2")]
    offset: i64,
    #[prost(int64, tag = "3")]
    size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReadResponse {
    #[prost(int64, tag = "1")]
    offset: i64,
    #[prost(bytes = "bytes", tag = "2")]
    data: Bytes,
}

impl Containerd {
    /// The size of a blob that is there, whole; nothing of what is still coming.
    pub async fn blob_size(&self, digest: &Digest) -> Result<Option<u64>, ContainerdError> {
        let asked = InfoRequest {
            digest: digest.to_string(),
        };
        let answer: Result<InfoResponse, _> = self.rpc.ask(&format!("{CONTENT}Info"), asked).await;
        match answer {
            Ok(answer) => Ok(u64::try_from(answer.info.unwrap_or_default().size).ok()),
            Err(ContainerdError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// So many bytes of a blob from there on.
    pub async fn read_blob(
        &self,
        digest: &Digest,
        from: u64,
        length: u64,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, ContainerdError> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let asked = ReadRequest {
            digest: digest.to_string(),
            offset: number(from),
            size: number(length),
        };
        let path = format!("{CONTENT}Read");
        let pieces = self.rpc.follow::<_, ReadResponse>(&path, asked).await?;
        Ok(pieces.map(|piece| piece.map(|piece| piece.data).map_err(io::Error::other)))
    }
}
