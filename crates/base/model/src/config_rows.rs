//! The rows of a configuration: a job or a resource as the store keeps it beside the whole text.
//!
//! Made by `airside-config`, kept by `airside-store`, which do not know each other.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Version;

/// A job of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveJob {
    pub name: String,
    /// Name that it had before; empty if it was not renamed.
    pub old_name: String,
    /// Fields that lists show: JSON that is stored in clear.
    pub outline: String,
}

/// A resource of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveResource {
    pub name: String,
    /// Name that it had before; empty if it was not renamed.
    pub old_name: String,
    pub type_: String,
    /// The version that the configuration holds it to.
    pub pin: Option<Version>,
    /// Fields that lists show: JSON that is stored in clear.
    pub outline: String,
}

impl SaveJob {
    pub fn new(name: &str, outline: &impl Serialize) -> Self {
        Self {
            name: name.to_owned(),
            old_name: String::new(),
            outline: text(outline),
        }
    }

    pub fn formerly(self, old_name: &str) -> Self {
        Self {
            old_name: old_name.to_owned(),
            ..self
        }
    }

    /// A job of which lists show nothing but its name.
    pub fn named(name: &str) -> Self {
        Self::new(name, &Map::<String, Value>::new())
    }
}

impl SaveResource {
    pub fn new(name: &str, type_: &str, outline: &impl Serialize) -> Self {
        Self {
            name: name.to_owned(),
            old_name: String::new(),
            type_: type_.to_owned(),
            pin: None,
            outline: text(outline),
        }
    }

    pub fn formerly(self, old_name: &str) -> Self {
        Self {
            old_name: old_name.to_owned(),
            ..self
        }
    }

    pub fn pinned(self, pin: Option<Version>) -> Self {
        Self { pin, ..self }
    }

    /// A resource of which lists show nothing but its name and type.
    pub fn named(name: &str, type_: &str) -> Self {
        Self::new(name, type_, &Map::<String, Value>::new())
    }
}

fn text(outline: &impl Serialize) -> String {
    serde_json::to_string(outline).expect("an outline is always JSON")
}
