//! Abilities of all managers.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Asker, Error};

/// A value that a manager gave out.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Secret {
    pub value: Value,
    /// Time for which the value may be kept, by its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_for: Option<Duration>,
}

impl Secret {
    pub fn new(value: Value) -> Self {
        Self {
            value,
            good_for: None,
        }
    }
}

impl fmt::Debug for Secret {
    /// Formats all but the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("good_for", &self.good_for)
            .finish_non_exhaustive()
    }
}

/// The owner of a manager, who decides what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The administrator's: it may read the server's files and use the server's own identity.
    Installation,
    /// A tenant's: it has what stands in its settings, and nothing else.
    Pipeline,
}

/// A secret manager that can be asked. Every call blocks, but for [`Manager::paths`] and
/// [`Manager::shown`].
pub trait Manager: Send + Sync {
    /// Returns the paths at which it may keep a variable, the most particular to the asker first.
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error>;

    /// Returns the secret that it keeps there, if there is one.
    fn read(&self, path: &str) -> Result<Option<Secret>, Error>;

    /// Returns the longest time that one [`Manager::read`] may take.
    fn patience(&self) -> Duration;

    /// Keeps its login alive. Gives when it wants to be asked again; `None`: never.
    fn tend(&self) -> Option<Duration> {
        None
    }

    /// Returns the manager's settings, without what is secret.
    fn shown(&self) -> Value;

    /// Returns the request for its health, and the response.
    fn health(&self) -> (&'static str, Result<Value, Error>);
}
