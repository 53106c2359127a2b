//! The accept loop.

use std::{
    convert::Infallible, error::Error, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use airside_limits::{ConnectionPlace, Files, Limits, Peer, Places};
use airside_model::chain;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::body::HoldingBody;

/// The pause after the system could not give a connection out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The bounds and the name of one server.
#[derive(Clone)]
pub struct ServeOptions {
    /// Name of the tasks and in logs, such as `mirror connection`.
    pub name: &'static str,
    /// Serves plain HTTP without it.
    pub tls: Option<Arc<ServerConfig>>,
    pub limits: Limits,
    pub handshake_timeout: Duration,
    /// Time for the head of a request. It is also the time that a connection may stay silent
    /// between two requests.
    pub head_timeout: Duration,
    /// Time for answers under way at the shutdown.
    pub drain: Duration,
}

impl ServeOptions {
    /// Returns bounds for a server inside a cluster, by the limit of open files of this process:
    /// few peers, which may each have many connections.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            tls: None,
            limits: Files::now().served(),
            handshake_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(25),
        }
    }

    pub fn with_tls(self, config: Arc<ServerConfig>) -> Self {
        Self {
            tls: Some(config),
            ..self
        }
    }
}

/// Serves until the shutdown; answers that are under way then may end.
pub async fn serve<A, F, B>(
    listener: Arc<TcpListener>,
    options: ServeOptions,
    answer: A,
    shutdown: CancellationToken,
) where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let places = Places::new(options.limits);
    let server = Server {
        acceptor: options.tls.clone().map(TlsAcceptor::from),
        options,
        answer,
        shutdown: shutdown.clone(),
    };
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let patience = server.options.handshake_timeout + server.options.head_timeout;
                let Some(place) = places.enter(Peer::from(peer), patience) else {
                    tracing::debug!(server = server.options.name, %peer, "connection refused: all places are taken");
                    continue;
                };
                let serving = server.clone().serve_connection(stream, peer, place);
                drop(connections.spawn(airside_tasks::named(server.options.name, serving)));
            }
            Err(error) if is_of_the_client(&error) => {}
            // Out of files, say: there will be some again.
            Err(error) => {
                tracing::warn!(
                    server = server.options.name,
                    error = %airside_model::chain(&error),
                    "connection not accepted"
                );
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    let drained = tokio::time::timeout(server.options.drain, connections.wait()).await;
    if drained.is_err() {
        let connections = connections.len();
        tracing::warn!(
            server = server.options.name,
            connections,
            "answers cut short by the shutdown"
        );
    }
}

/// Returns true if only the one connection failed that was to be accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[derive(Clone)]
struct Server<A> {
    options: ServeOptions,
    acceptor: Option<TlsAcceptor>,
    answer: A,
    shutdown: CancellationToken,
}

impl<A, F, B> Server<A>
where
    A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    async fn serve_connection(self, stream: TcpStream, peer: SocketAddr, place: ConnectionPlace) {
        let server = self.options.name;
        // Answers are small or large as a whole; nothing is gained by waiting for a second packet.
        let _ = stream.set_nodelay(true);
        let Some(acceptor) = &self.acceptor else {
            return self.serve_requests(stream, peer, &place).await;
        };
        let handshake =
            tokio::time::timeout(self.options.handshake_timeout, acceptor.accept(stream));
        let shaken = tokio::select! {
            () = self.shutdown.cancelled() => return,
            shaken = handshake => shaken,
        };
        match shaken {
            Ok(Ok(stream)) => self.serve_requests(stream, peer, &place).await,
            Ok(Err(error)) => {
                tracing::debug!(server, %peer, error = %chain(&error), "TLS handshake failed");
            }
            Err(_) => tracing::debug!(server, %peer, "TLS handshake timed out"),
        }
    }

    async fn serve_requests<S>(&self, stream: S, peer: SocketAddr, place: &ConnectionPlace)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (server, head_timeout) = (self.options.name, self.options.head_timeout);
        let activity = place.activity();
        activity.awaits(head_timeout);
        let service = service_fn(|request| {
            let in_flight = activity.begin(head_timeout);
            let answered = (self.answer)(request);
            async move {
                let answer = answered.await;
                Ok::<_, Infallible>(answer.map(|body| HoldingBody {
                    body: Box::pin(body),
                    _request: in_flight,
                }))
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .serve_connection(TokioIo::new(stream), service);
        let mut served = pin!(served);
        let ended = tokio::select! {
            ended = served.as_mut() => ended,
            reason = activity.ended() => {
                return tracing::debug!(server, %peer, %reason, "connection closed");
            }
            () = self.shutdown.cancelled() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(server, %peer, error = %chain(&error), "connection ended early");
        }
    }
}
