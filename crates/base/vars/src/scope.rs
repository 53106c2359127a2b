//! The variables of a build: what `load_var` and `get` steps add and what `across` steps vary.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::{Error, LOCAL, Lookup, Reference, traverse};

/// One level of a build's variables. An inner scope sees the outer ones and hides what it names
/// itself; what is added to it does not get out.
#[derive(Debug, Default)]
pub struct VarScope {
    outer: Option<Arc<VarScope>>,
    values: RwLock<BTreeMap<String, Value>>,
}

impl VarScope {
    /// A scope inside this one.
    pub fn inner(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            outer: Some(Arc::clone(self)),
            values: RwLock::default(),
        })
    }

    /// Steps run side by side, so adding needs no exclusive access.
    pub fn add(&self, name: impl Into<String>, value: Value) {
        let mut values = self
            .values
            .write()
            .unwrap_or_else(|poison| poison.into_inner());
        values.insert(name.into(), value);
    }

    fn find(&self, name: &str) -> Option<Value> {
        let values = self
            .values
            .read()
            .unwrap_or_else(|poison| poison.into_inner());
        match (values.get(name), &self.outer) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(outer)) => outer.find(name),
            (None, None) => None,
        }
    }
}

impl Lookup for VarScope {
    /// Answers for `((.:name))` alone.
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        if reference.source != LOCAL {
            return Ok(None);
        }
        self.find(&reference.path)
            .map(|value| traverse(&value, reference).cloned())
            .transpose()
    }
}

impl Lookup for Arc<VarScope> {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        VarScope::get(self, reference)
    }
}
