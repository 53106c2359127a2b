//! The variables of a build: what `load_var` and `get` steps add and what `across` steps vary.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::{Error, LOCAL, Lookup, Reference, traverse};

/// One level of a build's variables. An inner scope sees the outer ones and hides what it names
/// itself; what is added to it does not get out.
#[derive(Debug, Default)]
pub struct Scope {
    outer: Option<Arc<Scope>>,
    values: RwLock<BTreeMap<String, Local>>,
}

#[derive(Clone, Debug)]
struct Local {
    value: Value,
    secret: bool,
}

impl Scope {
    /// A scope inside this one.
    pub fn inner(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            outer: Some(Arc::clone(self)),
            values: RwLock::default(),
        })
    }

    /// Steps run side by side, so adding needs no exclusive access. A secret must not show in logs.
    pub fn add(&self, name: impl Into<String>, value: Value, secret: bool) {
        let mut values = self
            .values
            .write()
            .unwrap_or_else(|poison| poison.into_inner());
        values.insert(name.into(), Local { value, secret });
    }

    fn find(&self, name: &str) -> Option<Value> {
        let values = self
            .values
            .read()
            .unwrap_or_else(|poison| poison.into_inner());
        match (values.get(name), &self.outer) {
            (Some(local), _) => Some(local.value.clone()),
            (None, Some(outer)) => outer.find(name),
            (None, None) => None,
        }
    }

    /// Every text in the secret values of this scope and those around it.
    pub fn secrets(&self) -> Vec<String> {
        let mut texts = match &self.outer {
            Some(outer) => outer.secrets(),
            None => Vec::new(),
        };
        let values = self
            .values
            .read()
            .unwrap_or_else(|poison| poison.into_inner());
        for local in values.values().filter(|local| local.secret) {
            collect_texts(&local.value, &mut texts);
        }
        texts
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(map) => map.values().for_each(|value| collect_texts(value, texts)),
        Value::String(_) | Value::Null | Value::Bool(_) => {}
    }
}

impl Lookup for Scope {
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

impl Lookup for Arc<Scope> {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        Scope::get(self, reference)
    }
}
