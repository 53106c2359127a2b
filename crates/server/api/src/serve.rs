//! Listening, with TLS or without.

use std::{convert::Infallible, fmt, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use airside_limits::{Activity, Busy, ConnectionPlace, Peer, Places, Turn};
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
    proxies::{Caller, TrustedProxies},
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

/// The caller of a request, by the word of a trusted proxy or by its connection. There is none
/// where no listener is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CameFrom(Option<Caller>);

impl CameFrom {
    pub(crate) fn of(request: &Request) -> Self {
        let known = request.extensions().get().copied();
        known.unwrap_or(Self(None))
    }

    pub(crate) fn peer(self) -> Peer {
        self.0.map_or(Peer::Here, Caller::peer)
    }
}

impl fmt::Display for CameFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .map_or(Ok(()), |caller| fmt::Display::fmt(&caller.address, f))
    }
}

impl<S: Sync> FromRequestParts<S> for CameFrom {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// The bounds on connections to a listener.
#[derive(Clone)]
pub struct Entrance {
    pub places: Places,
    pub proxies: TrustedProxies,
}

impl From<Places> for Entrance {
    /// Trusts no proxy.
    fn from(places: Places) -> Self {
        Self {
            proxies: TrustedProxies::new(Vec::new(), places.limits()),
            places,
        }
    }
}

/// Serves until `shutdown`, then lets requests under way end. Streams of events would never end by
/// themselves: they are cut, and their clients come back for the rest. With `tls` by whatever
/// certificate that has when a client comes. Connections beyond the entrance's places are closed.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    router: Router,
    entrance: impl Into<Entrance>,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let Entrance { places, proxies } = entrance.into();
    let server = Server {
        acceptor: tls.map(|tls| TlsAcceptor::from(tls.server_config())),
        router: router
            .layer(Extension(shutdown.clone()))
            .layer(axum::middleware::from_fn(answer_faults)),
        proxies,
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
    proxies: TrustedProxies,
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
        let (router, proxies) = (self.router, self.proxies);
        let service = tower::service_fn(move |request: http::Request<_>| {
            let caller = proxies.caller(from.ip(), request.headers());
            answer(
                router.clone(),
                request.map(Body::new),
                (caller, proxies.enter(caller)),
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

fn too_many_requests(busy: Busy) -> ApiError {
    let (Busy::Owner(limit) | Busy::Overall(limit)) = busy;
    let why = format!("your address has {limit} requests under way, which is the most");
    let retry_after = Duration::from_secs(1);
    ApiError::TooMany { why, retry_after }
}

async fn answer(
    router: Router,
    mut request: Request,
    (caller, turn): (Caller, Result<Option<Turn<Peer>>, Busy>),
    activity: Activity,
) -> Result<Response<Answered>, Infallible> {
    use tower::Service as _;
    let in_flight = activity.begin(KEEP_ALIVE);
    let turn = match turn {
        Ok(turn) => turn,
        Err(busy) => {
            let refused = too_many_requests(busy).into_response();
            return Ok(refused.map(|body| Answered::new(body, in_flight, None)));
        }
    };
    let connects = request.method() == Method::CONNECT;
    request.extensions_mut().insert(CameFrom(Some(caller)));
    let request = request.map(|body| Body::new(Paced::new(body, activity.clone())));
    let mut router = router;
    let response: Response = router.call(request).await?;
    // A web socket: from here on it is not a request any more, and users in it may be silent.
    if connects || response.status() == StatusCode::SWITCHING_PROTOCOLS {
        activity.keep();
    }
    Ok(response.map(|body| Answered::new(body, in_flight, turn)))
}
