//! Puts values into a template.
//!
//! A template may have the template of another `across` in it, as text. Values go into that as
//! texts of its JSON and never as JSON: a value with quotes in it cannot become a part of the plan.

use airside_vars::{Error, Lookup, Reference, interpolate, kind};
use serde_json::{Map, Value};

const TEMPLATE: &str = "substep_template";

pub(super) fn fill(value: Value, lookup: &dyn Lookup) -> Result<Value, Error> {
    if !has_template(&value) {
        return interpolate(value, lookup);
    }
    Ok(match value {
        Value::Array(items) => {
            let items = items.into_iter().map(|item| fill(item, lookup));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(mut map) => {
            let inner = map.get(TEMPLATE).and_then(inner_template);
            if inner.is_some() {
                map.remove(TEMPLATE);
            }
            let mut filled = Map::new();
            for (key, value) in map {
                filled.insert(key, fill(value, lookup)?);
            }
            if let Some(inner) = inner {
                let inner = fill(inner, &Texts(lookup))?;
                filled.insert(TEMPLATE.to_owned(), Value::String(inner.to_string()));
            }
            Value::Object(filled)
        }
        value => interpolate(value, lookup)?,
    })
}

/// Returns true if there is the template of another `across` somewhere in the value.
fn has_template(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(map) => {
            map.get(TEMPLATE).and_then(inner_template).is_some() || map.values().any(has_template)
        }
        _ => false,
    }
}

fn inner_template(text: &Value) -> Option<Value> {
    let plan: Value = serde_json::from_str(text.as_str()?).ok()?;
    plan.is_object().then_some(plan)
}

/// Values as they go into a longer text: texts and numbers.
struct Texts<'a>(&'a dyn Lookup);

impl Lookup for Texts<'_> {
    fn get(&self, reference: &Reference) -> Result<Option<Value>, Error> {
        Ok(match self.0.get(reference)? {
            None => None,
            Some(Value::String(text)) => Some(Value::String(text)),
            Some(Value::Number(number)) => Some(Value::String(number.to_string())),
            Some(other) => {
                return Err(Error::NotText {
                    kind: kind(&other),
                    name: reference.to_string(),
                });
            }
        })
    }
}
