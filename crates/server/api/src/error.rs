//! Errors of requests, as `fly` gets them.

use std::time::Duration;

use airside_limits::Busy;
use airside_lines::LinesError;
use airside_model::chain;
use airside_setting::SetPipelineError;
use axum::{
    Json,
    response::{AppendHeaders, IntoResponse, Response},
};
use http::{
    StatusCode,
    header::{RETRY_AFTER, SET_COOKIE},
};
use serde_json::json;

use crate::{
    AbortError, TriggerError, WorkerChangeError, cookies,
    fault::{FaultKind, RequestFault},
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("not authorized")]
    Unauthenticated,
    #[error("forbidden")]
    Forbidden,
    /// Forbidden by a policy or by an object that sets the pipeline, in words for users.
    #[error("{0}")]
    Refused(String),
    #[error("not found")]
    NotFound,
    #[error("{0}")]
    BadRequest(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    TooLarge(String),
    #[error("{0}")]
    NoRoom(String),
    #[error("{why}; try again in {} seconds", retry_after.as_secs() + 1)]
    TooMany { why: String, retry_after: Duration },
    #[error("{0}; try again in a moment")]
    Busy(String),
    #[error("{0}")]
    UnsupportedMediaType(String),
    #[error(
        "failed to save config: comparison with existing config failed during save: the pipeline was \
         changed since it was read; get it again, and repeat the change"
    )]
    StaleConfig,
    #[error("{0}")]
    Invalid(String),
    #[error("the database failed")]
    Store(#[source] airside_store::Error),
    #[error("the engine failed")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the lines of a build cannot be read")]
    Lines(#[source] LinesError),
    #[error("{0}")]
    Internal(&'static str),
}

/// Time after which a client may as well try again.
const RETRY_AFTER_BUSY: Duration = Duration::from_secs(5);

/// The answer to a request that failed by a fault of the server.
const FAILED: &str = "the server failed to answer; its log says why";

pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

impl From<airside_store::Error> for ApiError {
    fn from(error: airside_store::Error) -> Self {
        match error {
            airside_store::Error::ConfigVersion { .. } => Self::StaleConfig,
            error @ (airside_store::Error::NameTaken { .. } | airside_store::Error::Quota(_)) => {
                Self::Invalid(chain(&error))
            }
            error @ (airside_store::Error::NoSuchPipeline { .. } | airside_store::Error::Nul) => {
                Self::BadRequest(chain(&error))
            }
            error => Self::Store(error),
        }
    }
}

impl From<SetPipelineError> for ApiError {
    fn from(error: SetPipelineError) -> Self {
        match error {
            SetPipelineError::Refused(words) => Self::Refused(words),
            error @ SetPipelineError::Unavailable { .. } => Self::Busy(chain(&error)),
            SetPipelineError::NotJson => Self::Internal("the configuration is not JSON"),
            SetPipelineError::Store(error) => error.into(),
        }
    }
}

impl From<TriggerError> for ApiError {
    fn from(error: TriggerError) -> Self {
        match error {
            TriggerError::Refused(why) => Self::Conflict(why),
            TriggerError::Store(error) => error.into(),
        }
    }
}

impl From<WorkerChangeError> for ApiError {
    fn from(error: WorkerChangeError) -> Self {
        match error {
            WorkerChangeError::Orchestrator(error) => Self::Engine(error),
            WorkerChangeError::Store(error) => error.into(),
        }
    }
}

impl From<AbortError> for ApiError {
    fn from(error: AbortError) -> Self {
        match error {
            AbortError::Engine(error) => Self::Engine(error),
            AbortError::Store(error) => error.into(),
        }
    }
}

impl From<LinesError> for ApiError {
    fn from(error: LinesError) -> Self {
        match error {
            error @ LinesError::Busy => Self::Busy(chain(&error)),
            error => Self::Lines(error),
        }
    }
}

impl From<Busy> for ApiError {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Owner(limit) => Self::TooMany {
                why: format!(
                    "the team has {limit} uploads and downloads under way, which is the most"
                ),
                retry_after: RETRY_AFTER_BUSY,
            },
            Busy::Overall(limit) => Self::Busy(format!(
                "the server has {limit} uploads and downloads under way, which is the most"
            )),
        }
    }
}

impl ApiError {
    /// The answer to a request that ended by a panic. The panic's own words stay in the log: they
    /// may hold what others sent.
    pub(crate) const FAULT: Self = Self::Internal(
        "a fault in Airside ended this request; nothing else is affected, and the server's log has a line on it",
    );

    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::BadRequest(_) | Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoRoom(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Store(error) if error.is_transient() => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(error) if error.is_out_of_space() => StatusCode::INSUFFICIENT_STORAGE,
            Self::StaleConfig
            | Self::Store(_)
            | Self::Engine(_)
            | Self::Lines(_)
            | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        let text = self.to_string();
        match self {
            Self::NotFound => status.into_response(),
            Self::Unauthenticated => {
                // A browser need not show again what is not accepted.
                let cleared = cookies::cleared().map(|value| (SET_COOKIE, value));
                (status, AppendHeaders(cleared), text).into_response()
            }
            Self::TooMany { retry_after, .. } => {
                let seconds = (retry_after.as_secs() + 1).to_string();
                (status, [(RETRY_AFTER, seconds)], text).into_response()
            }
            Self::Busy(_) => {
                let seconds = RETRY_AFTER_BUSY.as_secs().to_string();
                (status, [(RETRY_AFTER, seconds)], text).into_response()
            }
            Self::Invalid(_) => (status, Json(json!({"errors": [text]}))).into_response(),
            Self::Store(error) if error.is_transient() => {
                let why = "the database is locked or cannot be reached; try again in a moment";
                let response = (status, [(RETRY_AFTER, "5")], why).into_response();
                RequestFault::new(FaultKind::DatabaseAway, error).on(response)
            }
            Self::Store(error) if error.is_out_of_space() => {
                let why = "the disk of the database is full, so nothing was changed; make room on the \
                           server, then try again";
                let response = (status, why).into_response();
                RequestFault::new(FaultKind::NoRoom, error).on(response)
            }
            Self::Store(error) => {
                let response = (status, FAILED).into_response();
                RequestFault::new(FaultKind::Failed, error).on(response)
            }
            Self::Engine(error) => {
                let response = (status, FAILED).into_response();
                RequestFault::new(FaultKind::Failed, error).on(response)
            }
            Self::Lines(error) => {
                let response = (status, FAILED).into_response();
                RequestFault::new(FaultKind::Failed, error).on(response)
            }
            _ => (status, text).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_fail_do_not_say_that_the_database_is_damaged() {
        for failed in [
            ApiError::from(AbortError::Engine("a disk".into())),
            ApiError::from(WorkerChangeError::Orchestrator("a runtime".into())),
        ] {
            assert!(matches!(failed, ApiError::Engine(_)));
            assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
        }
    }
}
