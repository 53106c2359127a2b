//! Instance vars: the variables that distinguish pipelines of one name.

use std::fmt;

use serde_json::{Map, Value};

/// A JSON object. Two are the same if they hold the same values, in whatever order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceVars(Map<String, Value>);

impl InstanceVars {
    pub fn new(vars: Map<String, Value>) -> Self {
        match sorted(Value::Object(vars)) {
            Value::Object(vars) => Self(vars),
            _ => Self::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(crate) fn parse(text: &str) -> crate::Result<Self> {
        match text {
            // Of almost every pipeline, and worth no parser.
            "{}" => Ok(Self::default()),
            text => crate::from_json(text, "instance vars").map(Self::new),
        }
    }
}

/// The canonical text, which the database compares.
impl fmt::Display for InstanceVars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let vars = |text: &str| InstanceVars::parse(text).unwrap();
        let one = vars(r#"{"b": {"z": 1, "a": [{"y": 1, "x": 2}]}, "a": "ü"}"#);
        let other = vars(r#"{"a": "ü", "b": {"a": [{"x": 2, "y": 1}], "z": 1}}"#);
        assert_eq!(one.to_string(), other.to_string());
        assert_eq!(one, vars(&one.to_string()));
        assert_ne!(one, vars(r#"{"a": "ü"}"#));
        assert_eq!(InstanceVars::default().to_string(), "{}");
        assert!(InstanceVars::parse("[]").is_err());
    }
}
