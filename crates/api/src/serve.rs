//! Listening, with TLS or without.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::Request,
    middleware::Next,
    response::{IntoResponse as _, Response},
    serve::Listener,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Mutex, mpsc},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{Tls, error::ApiError};

/// How long a client may take to agree on a key.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Connections that have agreed on one and wait to be served.
const WAITING: usize = 64;

/// Serves until `shutdown`, then lets requests under way end. Streams of events would never end by
/// themselves: they are cut, and their clients come back for the rest.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    serve_on(listener, router, shutdown).await
}

/// The same with TLS, by whatever certificate `tls` has when a client comes.
pub async fn serve_tls(
    listener: TcpListener,
    tls: Arc<Tls>,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let listener = TlsListener::start(listener, &tls, shutdown.clone())?;
    serve_on(listener, router, shutdown).await
}

async fn serve_on<L>(listener: L, router: Router, shutdown: CancellationToken) -> io::Result<()>
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let router = router
        .layer(Extension(shutdown.clone()))
        .layer(axum::middleware::from_fn(answer_faults));
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await
}

/// Answers a request whose handler panics outside of the guard: of logins, metrics, or the registry.
async fn answer_faults(request: Request, next: Next) -> Response {
    match airside_tasks::caught("HTTP request", next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::FAULT.into_response(),
    }
}

/// Hands out connections that are past their handshake: a slow client keeps only itself waiting.
struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl TlsListener {
    fn start(
        listener: TcpListener,
        tls: &Arc<Tls>,
        shutdown: CancellationToken,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(tls.server_config());
        let (done, ready) = mpsc::channel(WAITING);
        let (listener, until) = (Arc::new(Mutex::new(listener)), shutdown.clone());
        airside_tasks::supervise("TLS listener", &shutdown, move || {
            let accepting = accept(listener.clone(), acceptor.clone(), done.clone());
            let until = until.clone();
            async move { until.run_until_cancelled(accepting).await.unwrap_or(()) }
        });
        Ok(Self { address, ready })
    }
}

async fn accept(
    listener: Arc<Mutex<TcpListener>>,
    acceptor: TlsAcceptor,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let mut listener = listener.lock().await;
    loop {
        // axum's own: it logs and waits where the system has no more to give.
        let (stream, from) = Listener::accept(&mut *listener).await;
        let shaking = shake_hands(acceptor.clone(), stream, from, done.clone());
        airside_tasks::spawn("TLS handshake", shaking);
    }
}

async fn shake_hands(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    from: SocketAddr,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        // The listener is gone when the server stops.
        Ok(Ok(stream)) => drop(done.send((stream, from)).await),
        Ok(Err(error)) => debug!(%from, %error, "no TLS connection"),
        Err(_) => debug!(%from, "no TLS connection in time"),
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            // The shutdown has begun: there will be no more.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
