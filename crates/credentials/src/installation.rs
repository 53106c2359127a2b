//! The manager of the whole installation, as its operator configured it.

use serde_json::{Map, Value, json};

use crate::{dummy::Dummy, keeper::Keeper};

pub struct Installation(Kind);

enum Kind {
    Dummy(Map<String, Value>),
}

impl Installation {
    /// Values that stand in the server's settings, for trials.
    pub fn dummy(values: Map<String, Value>) -> Self {
        Self(Kind::Dummy(values))
    }

    /// What Concourse calls its type.
    pub(crate) fn type_(&self) -> &'static str {
        match &self.0 {
            Kind::Dummy(_) => "dummy",
        }
    }

    pub(crate) fn keeper(&self) -> Box<dyn Keeper> {
        match &self.0 {
            Kind::Dummy(values) => Box::new(Dummy(values.clone())),
        }
    }

    /// Its settings and its health.
    pub(crate) async fn shown(&self) -> Value {
        match &self.0 {
            Kind::Dummy(_) => json!({"health": {"method": "noop"}}),
        }
    }

    pub(crate) async fn tend_forever(&self) {}
}
