//! Sources of values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Error, Reference};

/// A source of variables. `None` is "not mine"; an error is an answer, and ends the search.
pub trait Lookup {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error>;
}

impl<F> Lookup for F
where
    F: Fn(&Reference) -> Result<Option<Value>, Error>,
{
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        self(reference)
    }
}

/// Values given by hand, as with `fly -v`. They know nothing of sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given(pub Map<String, Value>);

impl Lookup for Given {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        if !reference.source.is_empty() {
            return Ok(None);
        }
        self.0
            .get(&reference.path)
            .map(|value| traverse(value, reference).cloned())
            .transpose()
    }
}

/// Asks one after the other; the first that knows wins.
#[derive(Default)]
pub struct Chain<'a>(pub Vec<&'a dyn Lookup>);

impl Lookup for Chain<'_> {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        for lookup in &self.0 {
            if let Some(value) = lookup.get(reference)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// Var sources by name. A variable of a source that is not here is an error.
#[derive(Default)]
pub struct Sources<'a>(pub BTreeMap<String, Box<dyn Lookup + 'a>>);

impl Lookup for Sources<'_> {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        if reference.source.is_empty() {
            return Ok(None);
        }
        match self.0.get(&reference.source) {
            Some(source) => source.get(&reference.without_source()),
            None => Err(Error::NoSource {
                source_name: reference.source.clone(),
                name: reference.to_string(),
            }),
        }
    }
}

/// Follows a reference's fields into a value.
pub fn traverse<'v>(value: &'v Value, reference: &Reference) -> Result<&'v Value, Error> {
    let mut value = value;
    for field in &reference.fields {
        let name = || reference.to_string();
        let Value::Object(map) = value else {
            return Err(Error::NotAMap {
                field: field.clone(),
                kind: kind(value),
                name: name(),
            });
        };
        value = map.get(field).ok_or_else(|| Error::NoField {
            field: field.clone(),
            name: name(),
        })?;
    }
    Ok(value)
}

/// Gives the name of a value's type, for messages.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
