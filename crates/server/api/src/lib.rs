//! The HTTP API, in the shapes that `fly` expects.
//!
//! ```text
//! request ─▶ headers ─▶ guard (who? about what? may they?) ─▶ handler ─▶ presenter ─▶ response
//! ```
//!
//! [`airside_auth::Action`] is the table of what is served and what it takes. A handler can only be
//! mounted under an action, behind the guard, and gets at teams, pipelines and builds only through
//! the [`RequestScope`](scope::RequestScope) that the guard made. Handlers hold no rules of their
//! own about how builds run: what they start or stop goes through [`Builds`].

mod audit;
mod badge;
mod blocking;
mod body;
mod browser;
mod builds;
mod check_creds;
mod connection;
mod cookies;
mod error;
mod fault;
mod guard;
mod headers;
mod journey;
mod live_limits;
mod log_level;
mod login;
mod metrics;
mod outside;
mod page;
mod pages;
mod present;
mod proxies;
mod registry;
mod routes;
mod scope;
mod serve;
mod state;
mod tls;
mod traced;
mod web;
mod workers;

use axum::Router;
use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer,
        predicate::{DefaultPredicate, NotForContentType, Predicate},
    },
};

pub use airside_scheduler::{Blocking, Preparation, Prepared};
pub use builds::{AbortError, Builds, OneOffBuild, TriggerError};
pub use log_level::LogLevel;
pub use metrics::metrics_router;
pub use proxies::{BadNetwork, ProxyNetwork, TrustedProxies};
pub use registry::registry_router;
pub use serve::{Entrance, serve};
pub use state::{ApiState, CONCOURSE_VERSION, WORKER_VERSION};
pub use tls::{Tls, TlsError};
pub use workers::{WorkerChangeError, WorkerCondition, WorkerLife};

/// Programs and archives: compressed already, or of a length that the client wants to know.
pub(crate) const BINARY: &str = "application/octet-stream";

/// Everything that is served, ready for a listener.
pub fn router(state: ApiState) -> Router {
    let secure = state.is_secure();
    let router = routes::all(&state)
        .merge(login::router())
        .merge(browser::router())
        .merge(web::assets())
        .merge(outside::router());
    router
        .fallback(web::unknown)
        // The fastest level: a long list takes a fraction of the time and is hardly longer for it.
        .layer(
            CompressionLayer::new()
                .gzip(true)
                .quality(CompressionLevel::Fastest)
                .compress_when(DefaultPredicate::new().and(NotForContentType::const_new(BINARY))),
        )
        .layer(axum::middleware::map_response(move |response| {
            headers::add(secure, response)
        }))
        .layer(axum::middleware::from_fn(traced::trace))
        .with_state(state)
}
