//! Listening, with TLS or without.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use airside_limits::{Activity, ConnectionPlace, Peer, Places};
use airside_model::chain;
use axum::{
    Extension, Router,
    body::Body,
    extract::{FromRequestParts, Request},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode, request::Parts};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use crate::{
    Tls,
    connection::{Answered, Attended, Paced},
    error::ApiError,
};

/// A client has this long for its TLS handshake and the head of its first request together.
const FIRST_HEAD: Duration = Duration::from_secs(15);

/// A connection without a request is kept for this long, which is longer than proxies keep theirs.
/// The head of the next request must have come whole by then.
const KEEP_ALIVE: Duration = Duration::from_secs(120);

/// HTTP/2 clients that do not answer to this in as long are gone.
const PING: Duration = Duration::from_secs(30);

/// The most requests that one HTTP/2 connection may have at once.
const STREAMS: u32 = 200;

/// The pause after the system could not give a connection out.
const PAUSE: Duration = Duration::from_millis(100);

/// The address that a request came from: the client's, or that of a proxy in front of the server.
/// There is none where no listener is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CameFrom(Option<SocketAddr>);

impl CameFrom {
    pub(crate) fn peer(self) -> Peer {
        self.0.map_or(Peer::Here, Peer::from)
    }
}

impl<S: Sync> FromRequestParts<S> for CameFrom {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// Serves until `shutdown`, then lets requests under way end. Streams of events would never end by
/// themselves: they are cut, and their clients come back for the rest. With `tls` by whatever
/// certificate that has when a client comes. Connections beyond `places` are closed.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    router: Router,
    places: Places,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = Server {
        acceptor: tls.map(|tls| TlsAcceptor::from(tls.server_config())),
        router: router
            .layer(Extension(shutdown.clone()))
            .layer(axum::middleware::from_fn(answer_faults)),
        shutdown: shutdown.clone(),
    };
    let attended = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => match places.enter(Peer::from(from), FIRST_HEAD) {
                Some(place) => {
                    let attending = server.clone().serve_connection(stream, from, place);
                    drop(attended.spawn(airside_tasks::named("API connection", attending)));
                }
                None => debug!(%from, "connection refused: too many are open"),
            },
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                warn!(error = %chain(&error), "connection to the API not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    attended.close();
    attended.wait().await;
    Ok(())
}

/// Answers a request whose handler panics outside of the guard: of logins, metrics, or the
/// registry.
async fn answer_faults(request: Request, next: Next) -> Response {
    match airside_tasks::caught("HTTP request", next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::FAULT.into_response(),
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
struct Server {
    acceptor: Option<TlsAcceptor>,
    router: Router,
    shutdown: CancellationToken,
}

impl Server {
    async fn serve_connection(self, stream: TcpStream, from: SocketAddr, place: ConnectionPlace) {
        let activity = place.activity().clone();
        let stream = Attended::new(stream, place);
        let served = self.greet(stream, from, activity.clone());
        tokio::select! {
            () = served => {}
            ended = activity.ended() => debug!(%from, reason = %ended, "connection to the API closed"),
        }
    }

    async fn greet(self, stream: Attended<TcpStream>, from: SocketAddr, activity: Activity) {
        let Some(acceptor) = self.acceptor.clone() else {
            return self.converse(stream, from, activity).await;
        };
        match acceptor.accept(stream).await {
            Ok(stream) => self.converse(stream, from, activity).await,
            Err(error) => {
                debug!(%from, error = %chain(&error), "TLS handshake with the API failed")
            }
        }
    }

    async fn converse<S>(self, stream: S, from: SocketAddr, activity: Activity)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let router = self.router;
        let service = tower::service_fn(move |request: http::Request<_>| {
            answer(
                router.clone(),
                request.map(Body::new),
                from,
                activity.clone(),
            )
        });
        let builder = builder();
        let served = builder.serve_connection_with_upgrades(
            TokioIo::new(stream),
            TowerToHyperService::new(service),
        );
        let mut served = pin!(served);
        let ended = tokio::select! {
            ended = served.as_mut() => ended,
            () = self.shutdown.cancelled() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            debug!(%from, error = %chain(&*error), "connection to the API ended early");
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(KEEP_ALIVE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(STREAMS)
        // Web sockets over HTTP/2 begin with it.
        .enable_connect_protocol();
    builder
}

async fn answer(
    router: Router,
    mut request: Request,
    from: SocketAddr,
    activity: Activity,
) -> Result<Response<Answered>, Infallible> {
    use tower::Service as _;
    let in_flight = activity.begin(KEEP_ALIVE);
    let connects = request.method() == Method::CONNECT;
    request.extensions_mut().insert(CameFrom(Some(from)));
    let request = request.map(|body| Body::new(Paced::new(body, activity.clone())));
    let mut router = router;
    let response: Response = router.call(request).await?;
    // A web socket: from here on it is not a request any more, and users in it may be silent.
    if connects || response.status() == StatusCode::SWITCHING_PROTOCOLS {
        activity.keep();
    }
    Ok(response.map(|body| Answered::new(body, in_flight)))
}
