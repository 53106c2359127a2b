//! Puts values in the place of variables.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::lookup::kind;
use crate::scan::{Piece, pieces};
use crate::{Error, Lookup, Reference};

/// Fills in what is known and leaves the rest as it stands, as when a pipeline is set.
pub fn interpolate(value: Value, lookup: &dyn Lookup) -> Result<Value, Error> {
    Interpolation::new(lookup).value(value)
}

/// Fills in all variables, as before a step runs. Fails with the names of all that have no value.
pub fn resolve(value: Value, lookup: &dyn Lookup) -> Result<Value, Error> {
    let mut interpolation = Interpolation::new(lookup);
    let value = interpolation.value(value)?;
    if interpolation.missing.is_empty() {
        Ok(value)
    } else {
        Err(Error::Undefined(
            interpolation.missing.into_iter().collect(),
        ))
    }
}

/// The most bytes that the values put into one text or document may have together: a long value in
/// many places would be more than any machine can hold.
const MOST_BYTES: usize = 64 * 1024 * 1024;

struct Interpolation<'a> {
    lookup: &'a dyn Lookup,
    /// The number of bytes that may still be put in.
    room: usize,
    missing: BTreeSet<String>,
}

impl<'a> Interpolation<'a> {
    fn new(lookup: &'a dyn Lookup) -> Self {
        Self {
            lookup,
            room: MOST_BYTES,
            missing: BTreeSet::new(),
        }
    }

    fn value(&mut self, value: Value) -> Result<Value, Error> {
        Ok(match value {
            Value::String(text) => self.text(text)?,
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.value(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let mut filled = Map::with_capacity(map.len());
                for (key, value) in map {
                    let value = self.value(value)?;
                    filled.insert(self.key(key)?, value);
                }
                Value::Object(filled)
            }
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        })
    }

    /// A text that is one variable and nothing else becomes that variable's value, whatever it is.
    fn text(&mut self, text: String) -> Result<Value, Error> {
        if !text.contains("((") {
            return Ok(Value::String(text));
        }
        let pieces = pieces(&text);
        if let [Piece::Var(name)] = pieces[..] {
            let found = self.get(name)?;
            return Ok(found.unwrap_or(Value::String(text)));
        }
        let mut filled = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Var(name) => self.insert(name, &mut filled)?,
            }
        }
        Ok(Value::String(filled))
    }

    fn insert(&mut self, name: &str, filled: &mut String) -> Result<(), Error> {
        match self.get(name)? {
            None => {
                filled.push_str("((");
                filled.push_str(name);
                filled.push_str("))");
            }
            Some(Value::String(text)) => filled.push_str(&text),
            Some(Value::Number(number)) => filled.push_str(&number.to_string()),
            Some(other) => {
                return Err(Error::NotText {
                    kind: kind(&other),
                    name: name.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn key(&mut self, key: String) -> Result<String, Error> {
        if !key.contains("((") {
            return Ok(key);
        }
        match self.text(key.clone())? {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            other => Err(Error::NotText {
                kind: kind(&other),
                name: key,
            }),
        }
    }

    fn get(&mut self, name: &str) -> Result<Option<Value>, Error> {
        let reference = Reference::parse(name)?;
        let found = self.lookup.get(&reference)?;
        match &found {
            None => {
                self.missing.insert(reference.to_string());
            }
            Some(value) => {
                let left = self.room.checked_sub(size(value));
                self.room = left.ok_or(Error::TooLarge {
                    most: MOST_BYTES / (1024 * 1024),
                })?;
            }
        }
        Ok(found)
    }
}

/// Gives about how many bytes a value takes.
fn size(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    inner + 8
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hostile_values_do_not_fill_the_memory() {
        let long = Value::String("x".repeat(1024 * 1024));
        let lookup = |_: &Reference| Ok(Some(long.clone()));
        let few = json!(vec!["((v))"; 10]);
        assert!(interpolate(few, &lookup).is_ok());
        let many = json!("((v)) and ".repeat(100));
        let error = interpolate(many, &lookup).unwrap_err();
        assert_eq!(error, Error::TooLarge { most: 64 });
    }
}
