//! The meaning of a scalar, by YAML 1.1 as Concourse's reader has it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::events::{ScalarTag, Style};
use crate::{ErrorKind, Value, number};

pub(crate) fn resolve(
    text: &str,
    style: Style,
    tag: Option<ScalarTag>,
) -> Result<Value, ErrorKind> {
    let Some(tag) = tag else {
        return Ok(match style {
            Style::Plain => plain(text),
            Style::Quoted | Style::Block => Value::String(text.to_owned()),
        });
    };
    let wrong = |wanted| ErrorKind::Tag {
        text: text.to_owned(),
        wanted,
    };
    match (tag, plain(text)) {
        (ScalarTag::NonSpecific, value) => Ok(value),
        (ScalarTag::Binary, _) => binary(text),
        (ScalarTag::Str | ScalarTag::Other | ScalarTag::Merge, _) => {
            Ok(Value::String(text.to_owned()))
        }
        (ScalarTag::Bool, value @ Value::Bool(_)) => Ok(value),
        (ScalarTag::Bool, _) => Err(wrong("a boolean")),
        (ScalarTag::Int, value @ (Value::Int(_) | Value::UInt(_))) => Ok(value),
        (ScalarTag::Int, _) => Err(wrong("a whole number")),
        (ScalarTag::Float, value @ Value::Float(_)) => Ok(value),
        (ScalarTag::Float, Value::Int(value)) => Ok(Value::Float(value as f64)),
        (ScalarTag::Float, _) => Err(wrong("a number")),
        (ScalarTag::Null, Value::Null) => Ok(Value::Null),
        (ScalarTag::Null, _) => Err(wrong("null")),
    }
}

fn binary(text: &str) -> Result<Value, ErrorKind> {
    let joined: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bytes = STANDARD.decode(joined).map_err(|_| ErrorKind::Binary)?;
    Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A scalar without quotes. Timestamps and base-60 numbers stay strings.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Value::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    number::parse(text).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Value {
        resolve(text, Style::Plain, None).unwrap()
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(resolved("0644"), Value::Int(420));
        assert_eq!(resolved("yes"), Value::Bool(true));
        assert_eq!(resolved("yEs"), Value::String("yEs".into()));
        assert_eq!(resolved("~"), Value::Null);
        assert_eq!(resolved("12:30"), Value::String("12:30".into()));
        assert_eq!(
            resolve("1", Style::Quoted, None).unwrap(),
            Value::String("1".into()),
            "quoted scalars are strings"
        );
    }

    #[test]
    fn a_tag_must_fit() {
        let tagged = |text: &str, tag| resolve(text, Style::Quoted, Some(tag));
        assert_eq!(tagged("3", ScalarTag::Int).unwrap(), Value::Int(3));
        assert_eq!(tagged("3", ScalarTag::Float).unwrap(), Value::Float(3.0));
        assert_eq!(tagged("3", ScalarTag::NonSpecific).unwrap(), Value::Int(3));
        assert!(tagged("x", ScalarTag::Int).is_err());
        assert!(tagged("x", ScalarTag::Bool).is_err());
        assert!(tagged("x", ScalarTag::Null).is_err());
        assert_eq!(
            tagged("?", ScalarTag::Binary).unwrap_err(),
            ErrorKind::Binary
        );
    }
}
