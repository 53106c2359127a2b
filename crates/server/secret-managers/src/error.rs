//! Reasons why a manager did not answer, in words for the build's log.

use airside_blocking_http::Error as Outbound;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The manager cannot be used with these settings.
    #[error("{0}")]
    Settings(String),
    /// The manager refused the request.
    #[error("{0}")]
    Refused(String),
    /// The manager could not be reached, or had trouble: the request may succeed a little later.
    #[error("{0}")]
    Away(String),
}

impl Error {
    /// Returns true if asking again may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Sorts an answer that is not a success.
    pub(crate) fn of_status(status: u16, words: String) -> Self {
        match status {
            // 412: this node of Vault does not know yet what another one knows. 472, 473: it is a
            // stand-by.
            408 | 412 | 429 | 472 | 473 | 500 | 502 | 503 | 504 => Self::Away(words),
            _ => Self::Refused(words),
        }
    }
}

impl From<Outbound> for Error {
    fn from(error: Outbound) -> Self {
        let words = airside_model::chain(&error);
        match error {
            Outbound::Connect { .. }
            | Outbound::Silent { .. }
            | Outbound::Slow { .. }
            | Outbound::Cut { .. }
            | Outbound::Broken { .. } => Self::Away(words),
            Outbound::Address { .. } | Outbound::Certificate(_) => Self::Settings(words),
            Outbound::Status { status, .. } => Self::of_status(status, words),
            _ => Self::Refused(words),
        }
    }
}
