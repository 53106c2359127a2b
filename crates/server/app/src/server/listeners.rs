//! The listeners of the API, the registry and the metrics.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use airside_api::{ApiState, Entrance, Tls};
use airside_limits::Places;
use airside_model::chain;
use airside_registry::Registry;
use anyhow::{Context, Result};
use tokio::{net::TcpListener, signal::unix::Signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::options::Listening;

/// Time that requests get to end when the server stops. Event streams do not count: they are cut at
/// once.
const LAST_REQUESTS: Duration = Duration::from_secs(10);

/// The server's listeners, bound before anything else that a start does for good.
pub(super) struct Listeners {
    pub(super) api: TcpListener,
    pub(super) metrics: Option<TcpListener>,
    pub(super) registry: Option<TcpListener>,
}

impl Listeners {
    pub(super) async fn bind(options: &Listening) -> Result<Self> {
        Ok(Self {
            api: bind(options.listen, "--listen").await?,
            metrics: bind_optional(options.metrics_listen, "--metrics-listen").await?,
            registry: bind_optional(options.registry_listen, "--registry-listen").await?,
        })
    }
}

async fn bind_optional(address: Option<SocketAddr>, option: &str) -> Result<Option<TcpListener>> {
    match address {
        Some(address) => Ok(Some(bind(address, option).await?)),
        None => Ok(None),
    }
}

pub async fn bind(address: SocketAddr, option: &str) -> Result<TcpListener> {
    airside_hub::listen(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another address with {option}")
    })
}

pub(crate) fn serve_metrics(
    listener: TcpListener,
    state: ApiState,
    places: Places,
    shutdown: CancellationToken,
) {
    let router = airside_api::metrics_router(state);
    let serving = airside_api::serve(listener, None, router, places, shutdown);
    airside_tasks::spawn("metrics listener", serving);
}

/// Serves the registry, with the certificate of the API if that has one.
pub(crate) fn serve_registry(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    registry: Registry,
    places: Places,
    shutdown: CancellationToken,
) {
    let router = airside_api::registry_router(registry);
    let serving = airside_api::serve(listener, tls, router, places, shutdown);
    airside_tasks::spawn("registry listener", serving);
}

/// Serves the API until the shutdown, then a moment longer for requests under way.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    reload: Signal,
    state: ApiState,
    entrance: Entrance,
    shutdown: CancellationToken,
) -> Result<()> {
    let router = airside_api::router(state);
    let stopping = shutdown.clone();
    if let Some(tls) = tls.clone() {
        let reading = read_again(tls, reload, shutdown.clone());
        airside_tasks::spawn("certificate reload", reading);
    }
    let served = airside_api::serve(listener, tls, router, entrance, shutdown);
    tokio::pin!(served);
    tokio::select! {
        result = &mut served => return Ok(result?),
        () = stopping.cancelled() => {}
    }
    match tokio::time::timeout(LAST_REQUESTS, served).await {
        Ok(result) => Ok(result?),
        Err(_) => {
            warn!("requests cut that did not end in time");
            Ok(())
        }
    }
}

/// Keeps the certificate as new as its files: they are looked at now and then, and on SIGHUP.
async fn read_again(tls: Arc<Tls>, mut asked: Signal, shutdown: CancellationToken) {
    let mut now_and_then = tokio::time::interval(Tls::FILE_POLL_INTERVAL);
    loop {
        let read = tokio::select! {
            () = shutdown.cancelled() => return,
            _ = asked.recv() => tls.reload().await.map(|()| true),
            _ = now_and_then.tick() => tls.reload_if_changed().await,
        };
        match read {
            Ok(true) => info!("certificate read again"),
            Ok(false) => {}
            Err(error) => {
                warn!(
                    error = %chain(&error),
                    "new certificate refused; the one read before is served"
                );
            }
        }
    }
}
