//! Tests of a caller: what must hold for an object to be done, or to have failed.

use serde::Deserialize;
use serde_json::Value;

use crate::{FieldPath, conditions, path::BadFieldPath};

/// A test as people write it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FieldTestForm {
    condition: Option<String>,
    /// Status of the condition; `True` where it is absent.
    status: Option<Value>,
    path: Option<String>,
    equals: Option<Value>,
    exists: Option<bool>,
    at_least: Option<f64>,
}

/// One test of an object's fields.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldTest {
    Condition { type_: String, status: String },
    Equals { path: FieldPath, value: Value },
    Exists { path: FieldPath, exists: bool },
    AtLeast { path: FieldPath, value: f64 },
}

/// A test that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFieldTest {
    #[error(transparent)]
    Path(#[from] BadFieldPath),
    #[error(
        "a test has either a condition (with a status) or a path (with equals, exists or at_least)"
    )]
    Mixed,
}

impl TryFrom<FieldTestForm> for FieldTest {
    type Error = BadFieldTest;

    fn try_from(form: FieldTestForm) -> Result<Self, BadFieldTest> {
        let FieldTestForm {
            condition,
            status,
            path,
            equals,
            exists,
            at_least,
        } = form;
        let path = path.as_deref().map(FieldPath::parse).transpose()?;
        match (condition, path, status, equals, exists, at_least) {
            (Some(type_), None, status, None, None, None) => Ok(Self::Condition {
                type_,
                status: status.map_or_else(|| "True".to_owned(), |status| status_text(&status)),
            }),
            (None, Some(path), None, Some(value), None, None) => Ok(Self::Equals { path, value }),
            (None, Some(path), None, None, Some(exists), None) => Ok(Self::Exists { path, exists }),
            (None, Some(path), None, None, None, Some(value)) => Ok(Self::AtLeast { path, value }),
            _ => Err(BadFieldTest::Mixed),
        }
    }
}

/// Returns the status of a condition. YAML reads `True` without quotes as a boolean.
fn status_text(status: &Value) -> String {
    match status {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl FieldTest {
    /// Returns true if the object passes. A condition about an earlier generation passes no test.
    pub(crate) fn holds(&self, object: &Value, generation: i64) -> bool {
        match self {
            Self::Condition { type_, status } => {
                let found = conditions::find(object, type_);
                found.is_some_and(|found| found.status() == status && !found.is_behind(generation))
            }
            Self::Equals { path, value } => {
                let found = path.find(object);
                found.is_some_and(|found| is_equal(found, value))
            }
            Self::Exists { path, exists } => path.find(object).is_some() == *exists,
            Self::AtLeast { path, value } => {
                let found = path.find(object).and_then(amount);
                found.is_some_and(|found| found >= *value)
            }
        }
    }

    /// Returns the message of the condition that the test is about.
    pub(crate) fn message(&self, object: &Value) -> String {
        match self {
            Self::Condition { type_, .. } => {
                let found = conditions::find(object, type_);
                found.map(|found| found.words(type_)).unwrap_or_default()
            }
            Self::Equals { path, .. } | Self::Exists { path, .. } | Self::AtLeast { path, .. } => {
                match path.find(object) {
                    Some(found) => format!("{path} is {}", shown(found)),
                    None => format!("{path} is not there"),
                }
            }
        }
    }
}

impl std::fmt::Display for FieldTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Condition { type_, status } => write!(f, "condition {type_} is {status}"),
            Self::Equals { path, value } => write!(f, "{path} is {}", shown(value)),
            Self::Exists { path, exists: true } => write!(f, "{path} exists"),
            Self::Exists { path, .. } => write!(f, "{path} does not exist"),
            Self::AtLeast { path, value } => write!(f, "{path} is at least {value}"),
        }
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

/// Compares values; a number or a boolean is equal to its text, because variables are texts.
fn is_equal(found: &Value, expected: &Value) -> bool {
    found == expected || scalar_text(found).is_some_and(|text| scalar_text(expected) == Some(text))
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
