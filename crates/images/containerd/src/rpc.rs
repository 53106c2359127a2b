//! Questions over a Unix socket, and what their failures mean.

use std::{
    error::Error as _,
    path::{Path, PathBuf},
    time::Duration,
};

use airside_model::chain;
use http::uri::PathAndQuery;
use prost::Message;
use tonic::{
    Code, Request, Status, Streaming,
    client::Grpc,
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use super::messages::Envelope;

/// Timeout of every request but pulls.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Lists of a node with many images.
const LARGEST_ANSWER: usize = 64 << 20;
/// containerd's namespace of the kubelet's images and containers.
const NAMESPACE: &str = "k8s.io";

#[derive(Debug, thiserror::Error)]
pub enum ContainerdError {
    #[error(
        "there is no socket at {}: say with --runtime-socket where the container runtime of this node listens",
        .0.display()
    )]
    NoSocket(PathBuf),
    #[error("{} cannot be the path of a socket", .0.display())]
    BadSocket(PathBuf),
    /// The connection failed. Nothing is known about what was asked for: it may have happened.
    #[error("the container runtime went away: {0}")]
    Away(String),
    #[error("{0}")]
    NotFound(String),
    /// The runtime refused, in its words.
    #[error("{0}")]
    Refused(String),
}

#[derive(Clone)]
pub(crate) struct Rpc {
    channel: Channel,
}

/// Stream of the runtime's events.
pub struct Events(pub(crate) Streaming<Envelope>);

impl Events {
    pub async fn next(&mut self) -> Result<(), ContainerdError> {
        match self.0.message().await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(ContainerdError::Away("it ended its events".to_owned())),
            Err(status) => Err(failed(&status)),
        }
    }
}

impl Rpc {
    pub(crate) fn to(socket: &Path) -> Result<Self, ContainerdError> {
        let bad = || ContainerdError::BadSocket(PathBuf::from(socket));
        let path = socket.to_str().ok_or_else(bad)?;
        let endpoint = Endpoint::from_shared(format!("unix://{path}")).map_err(|_| bad())?;
        Ok(Self {
            channel: endpoint.connect_lazy(),
        })
    }

    pub(crate) async fn ask<Q, A>(&self, path: &str, question: Q) -> Result<A, ContainerdError>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        match tokio::time::timeout(REQUEST_TIMEOUT, self.ask_patiently(path, question)).await {
            Ok(answer) => answer,
            Err(_) => Err(ContainerdError::Away("it does not answer".to_owned())),
        }
    }

    /// However long it takes.
    pub(crate) async fn ask_patiently<Q, A>(
        &self,
        path: &str,
        question: Q,
    ) -> Result<A, ContainerdError>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.ready().await?;
        let codec = ProstCodec::<Q, A>::default();
        match grpc.unary(request(question), at(path)?, codec).await {
            Ok(answer) => Ok(answer.into_inner()),
            Err(status) => Err(failed(&status)),
        }
    }

    /// Answers that come one after the other.
    pub(crate) async fn follow<Q, A>(
        &self,
        path: &str,
        question: Q,
    ) -> Result<Streaming<A>, ContainerdError>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.ready().await?;
        let codec = ProstCodec::<Q, A>::default();
        let stream = grpc
            .server_streaming(request(question), at(path)?, codec)
            .await;
        match stream {
            Ok(stream) => Ok(stream.into_inner()),
            Err(status) => Err(failed(&status)),
        }
    }

    async fn ready(&self) -> Result<Grpc<Channel>, ContainerdError> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_ANSWER);
        match grpc.ready().await {
            Ok(()) => Ok(grpc),
            Err(error) => Err(ContainerdError::Away(chain(&error))),
        }
    }
}

fn request<Q>(question: Q) -> Request<Q> {
    let mut request = Request::new(question);
    let namespace = MetadataValue::from_static(NAMESPACE);
    request
        .metadata_mut()
        .insert("containerd-namespace", namespace);
    request
}

fn at(path: &str) -> Result<PathAndQuery, ContainerdError> {
    PathAndQuery::try_from(path).map_err(|error| ContainerdError::Refused(chain(&error)))
}

/// Distinguishes a failed connection from a refusal of the runtime: after the former nothing is
/// known, and only the latter is an answer.
fn failed(status: &Status) -> ContainerdError {
    if let Some(source) = status.source() {
        return ContainerdError::Away(chain(source));
    }
    let words = status.message().to_owned();
    match status.code() {
        Code::Unavailable | Code::Cancelled => ContainerdError::Away(words),
        Code::NotFound => ContainerdError::NotFound(words),
        _ => ContainerdError::Refused(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_from_a_broken_connection() {
        let broken = Status::from_error(Box::new(std::io::Error::other("broken pipe")));
        assert!(matches!(failed(&broken), ContainerdError::Away(_)));
        let told = |code| failed(&Status::new(code, "words"));
        assert!(matches!(told(Code::Unavailable), ContainerdError::Away(_)));
        assert!(matches!(told(Code::NotFound), ContainerdError::NotFound(_)));
        assert_eq!(told(Code::Unknown).to_string(), "words");
    }

    #[test]
    fn a_socket_that_is_not_there_is_named_with_its_option() {
        let error = crate::Containerd::at(Path::new("/no/such.sock"))
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "there is no socket at /no/such.sock: say with --runtime-socket where the container runtime of this node listens"
        );
    }
}
