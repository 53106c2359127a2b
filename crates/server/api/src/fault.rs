//! Faults of the server, carried by the response until the route of the request is known, and then
//! logged once.

use std::{error::Error, sync::Arc};

use airside_model::chain;
use axum::response::Response;
use tracing::{error, warn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    DatabaseAway,
    NoRoom,
    Failed,
}

/// A fault that ended a request, with its whole chain of causes.
#[derive(Clone, Debug)]
pub(crate) struct RequestFault {
    kind: FaultKind,
    error: Arc<dyn Error + Send + Sync>,
}

impl RequestFault {
    pub(crate) fn new(kind: FaultKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            error: Arc::from(error.into()),
        }
    }

    /// Hands the fault to the response, which brings it to the log.
    pub(crate) fn on(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }

    /// Logs the fault with the request that it ended.
    pub(crate) fn log(&self, method: &str, route: &str, path: &str) {
        let error = &*self.error;
        match self.kind {
            FaultKind::DatabaseAway => {
                warn!(method, route, path, error = %chain(error), "request refused: the database is away");
            }
            FaultKind::NoRoom => {
                error!(method, route, path, error = %chain(error), "request refused: the database has no room left");
            }
            FaultKind::Failed => {
                error!(method, route, path, error = %chain(error), "request failed")
            }
        }
    }
}
