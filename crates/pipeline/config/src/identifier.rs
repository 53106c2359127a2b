//! Names of pipelines, jobs, resources and steps, and the warnings about odd ones.

use airside_yaml::Span;
use serde::{Deserialize, Serialize};

/// A warning to the user that does not stop the pipeline from being set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    #[serde(rename = "type")]
    pub type_: String,
    pub message: String,
    /// Place in the text; `fly` does not get it.
    #[serde(skip)]
    pub span: Option<Span>,
}

impl Warning {
    pub fn new(type_: &str, message: String, span: Option<Span>) -> Self {
        Self {
            type_: type_.to_owned(),
            message,
            span,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{context}: identifier cannot be an empty string")]
pub struct EmptyIdentifier {
    pub context: String,
}

/// A name must not be empty; one that breaks the other rules is a warning. `context` says what is
/// named: `pipeline`, `jobs.build`, `jobs.build.plan.do[0].get(repo)`.
pub fn validate_identifier(name: &str, context: &str) -> Result<Option<Warning>, EmptyIdentifier> {
    let Some(first) = name.chars().next() else {
        return Err(EmptyIdentifier {
            context: context.to_owned(),
        });
    };
    let reason = if name.chars().all(|c| c.is_ascii_digit()) {
        "cannot be just numbers".to_owned()
    } else if !is_letter_or_digit(first) {
        "must start with a lowercase letter or a number".to_owned()
    } else if let Some(illegal) = name.chars().find(|c| !is_allowed(*c)) {
        format!("illegal character '{illegal}'")
    } else {
        return Ok(None);
    };
    let message = format!("{context}: '{name}' is not a valid identifier: {reason}");
    Ok(Some(Warning::new("invalid_identifier", message, None)))
}

/// Letters without upper case are letters too.
fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_digit() || (c.is_alphabetic() && !c.is_uppercase())
}

fn is_allowed(c: char) -> bool {
    is_letter_or_digit(c) || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_warned_about() {
        for name in ["a", "a-b_c.d", "1a", "日本語", "ñ"] {
            assert_eq!(validate_identifier(name, "jobs.x"), Ok(None), "{name}");
        }
        for (name, reason) in [
            ("A", "must start with a lowercase letter or a number"),
            ("_a", "must start with a lowercase letter or a number"),
            ("12", "cannot be just numbers"),
            ("a b", "illegal character ' '"),
            ("aB", "illegal character 'B'"),
        ] {
            let warning = validate_identifier(name, "jobs.x").unwrap().unwrap();
            assert_eq!(warning.type_, "invalid_identifier");
            assert_eq!(
                warning.message,
                format!("jobs.x: '{name}' is not a valid identifier: {reason}")
            );
        }
        assert_eq!(
            validate_identifier("", "pipeline").unwrap_err().to_string(),
            "pipeline: identifier cannot be an empty string"
        );
    }
}
