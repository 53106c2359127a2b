//! JSON of all objects: the only place that knows Concourse's field names.
//!
//! One file per kind of object, from plain structs to [`serde_json::Value`] or, where there are
//! many in a list, to structs that borrow; no lookups in here.

pub(crate) mod artifact;
pub(crate) mod build;
pub(crate) mod causality;
pub(crate) mod container;
pub(crate) mod job;
pub(crate) mod lines;
pub(crate) mod pipeline;
pub(crate) mod resource;
pub(crate) mod team;
pub(crate) mod user;
pub(crate) mod volume;
pub(crate) mod worker;

use serde_json::{Map, Value};

/// Adds fields only where there is something to say, as Concourse leaves out what is empty.
#[derive(Default)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves the field out if the value is null, false, zero, or empty.
    pub(crate) fn maybe(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let empty = match &value {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
        };
        if !empty {
            self.0.insert(name.to_owned(), value);
        }
        self
    }

    pub(crate) fn done(self) -> Value {
        Value::Object(self.0)
    }
}
