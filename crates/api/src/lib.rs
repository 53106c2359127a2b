//! The HTTP API, in the shapes that `fly` expects.
//!
//! ```text
//! request ─▶ headers ─▶ guard (who? about what? may they?) ─▶ handler ─▶ presenter ─▶ response
//! ```
//!
//! [`airside_auth::Action`] is the table of what is served and what it takes. A handler can only be
//! mounted under an action, behind the guard, and gets at teams, pipelines and builds only through
//! the [`Scope`](scope::Scope) that the guard made. Handlers hold no rules of their own about how
//! builds run: what they start or stop goes through [`Builds`].

#![forbid(unsafe_code)]

mod badge;
mod blocking;
mod body;
mod browser;
mod builds;
mod cookies;
mod error;
mod guard;
mod headers;
mod instance_vars;
mod log_level;
mod login;
mod metrics;
mod page;
mod pages;
mod present;
mod routes;
mod scope;
mod state;

use axum::{Extension, Router};
use tokio_util::sync::CancellationToken;
use tower_http::compression::{
    CompressionLayer,
    predicate::{DefaultPredicate, NotForContentType, Predicate},
};

pub use builds::{Builds, OneOffBuild, TriggerError};
pub use log_level::LogLevel;
pub use metrics::metrics_router;
pub use routes::UNSERVED;
pub use state::{ApiState, CONCOURSE_VERSION, WORKER_VERSION};

/// Programs and archives: compressed already, or of a length that the client wants to know.
pub(crate) const BINARY: &str = "application/octet-stream";

/// Everything that is served, ready for a listener.
pub fn router(state: ApiState) -> Router {
    let router = routes::all(&state)
        .merge(login::router())
        .merge(browser::router());
    router
        .fallback(routes::unknown)
        .layer(
            CompressionLayer::new()
                .gzip(true)
                .compress_when(DefaultPredicate::new().and(NotForContentType::const_new(BINARY))),
        )
        .layer(axum::middleware::map_response(headers::add))
        .with_state(state)
}

/// Serves until `shutdown`, then lets requests under way end. Streams of events would never end by
/// themselves: they are cut, and their clients come back for the rest.
pub async fn serve(
    listener: tokio::net::TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let router = router.layer(Extension(shutdown.clone()));
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await
}
