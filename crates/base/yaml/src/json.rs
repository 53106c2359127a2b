//! The tree as JSON.

use serde_json::{Map, Number, Value as Json};

use crate::{Error, ErrorKind, Node, Value, number};

impl Node {
    /// Returns the value as JSON, without spans. Infinities and not-a-number have no JSON.
    pub fn to_json(&self) -> Result<Json, Error> {
        Ok(match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => Json::from(*value),
            Value::UInt(value) => Json::from(*value),
            Value::Float(value) => Json::Number(float(*value).map_err(|k| k.at(self.span.start))?),
            Value::String(value) => Json::String(value.clone()),
            Value::Seq(items) => {
                Json::Array(items.iter().map(Node::to_json).collect::<Result<_, _>>()?)
            }
            Value::Map(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, node) in entries {
                    map.insert(key.text.clone(), node.to_json()?);
                }
                Json::Object(map)
            }
        })
    }
}

/// `1e3` and `1000` are the same JSON number, so whole floats become integers where they fit.
fn float(value: f64) -> Result<Number, ErrorKind> {
    let Some(number) = Number::from_f64(value) else {
        return Err(ErrorKind::NotFinite(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        }));
    };
    let text = number::json_text(value);
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(Number::from(whole));
    }
    Ok(text.parse::<u64>().map_or(number, Number::from))
}
