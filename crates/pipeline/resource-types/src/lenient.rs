//! Values as pipelines really have them. The scripts of other resource types read everything as
//! text, so that `branch: 1.10`, `depth: "1"` and `rebase: "true"` all work; here they do too.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// Text, or a number or switch that is meant as text.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        value @ (Value::Number(_) | Value::Bool(_)) => Ok(Some(value.to_string())),
        other => Err(D::Error::custom(format!("{other} is not text"))),
    }
}

pub(crate) fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Bool(on) => Ok(Some(on)),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) if text == "true" => Ok(Some(true)),
        Value::String(text) if text == "false" => Ok(Some(false)),
        other => Err(D::Error::custom(format!("{other} is not true or false"))),
    }
}

/// Reads a switch that is off by default.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(switch(from)?.unwrap_or_default())
}

pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let value = Value::deserialize(from)?;
    let found = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    match found {
        Some(number) => Ok(Some(number)),
        None => Err(D::Error::custom(format!(
            "{value} is not a whole number of at least 0"
        ))),
    }
}

/// A list of texts, or one that stands for a list of one.
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let values = match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(values) => values,
        one => vec![one],
    };
    values
        .into_iter()
        .map(|value| match value {
            Value::String(text) => Ok(text),
            value @ (Value::Number(_) | Value::Bool(_)) => Ok(value.to_string()),
            other => Err(D::Error::custom(format!("{other} is not text"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct All {
        #[serde(deserialize_with = "text")]
        text: Option<String>,
        #[serde(deserialize_with = "flag")]
        flag: bool,
        #[serde(deserialize_with = "number")]
        number: Option<u32>,
        #[serde(deserialize_with = "texts")]
        texts: Vec<String>,
    }

    #[test]
    fn what_is_meant_is_understood() {
        let read = |value: Value| serde_json::from_value::<All>(value);
        let all = All {
            text: Some("1.5".to_owned()),
            flag: true,
            number: Some(3),
            texts: vec!["a".to_owned()],
        };
        for value in [
            json!({"text": 1.5, "flag": "true", "number": "3", "texts": "a"}),
            json!({"text": "1.5", "flag": true, "number": 3, "texts": ["a"]}),
        ] {
            assert_eq!(read(value).unwrap(), all);
        }
        let nothing = json!({"text": null, "flag": null, "number": null, "texts": null});
        assert_eq!(read(nothing).unwrap(), All::default());
        for bad in [
            json!({"text": []}),
            json!({"flag": "yes"}),
            json!({"number": -1}),
            json!({"texts": [{}]}),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }
}
