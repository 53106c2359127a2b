//! Versions of objects.

use airside_model::Version;
use airside_object_status::{FieldPath, ObjectVerdict, StatusRules, judge};
use serde_json::Value;

use super::{
    names::text,
    settings::{EndTests, ObjectChoice, Source},
};

/// Longest part of a version, in bytes.
const MAX_PART: usize = 4096;

impl EndTests {
    /// Returns the rules of a judgement.
    pub(super) fn rules(&self, has_status: bool) -> StatusRules {
        StatusRules {
            until: self.until.clone(),
            fail: self.fail.clone(),
            ignore_generation: self.ignore_generation,
            has_status,
            uid: None,
        }
    }
}

/// Returns the version of an object that is done, or the path that it does not have.
pub(super) fn version_of<'a>(
    source: &'a Source,
    object: &Value,
    result: &str,
) -> Result<Version, &'a FieldPath> {
    let mut version = Version::default();
    for (name, path) in &source.version {
        let value = path.find(object).ok_or(path)?;
        version.0.insert(name.clone(), part(value));
    }
    if source.version.is_empty() {
        let mut add = |name: &str, value: String| version.0.insert(name.to_owned(), value);
        add("uid", text(object, "/metadata/uid").to_owned());
        add("result", result.to_owned());
        match object.pointer("/metadata/generation") {
            Some(generation) => add("generation", part(generation)),
            // Kinds without a generation change with each version of the object.
            None => add(
                "resourceVersion",
                text(object, "/metadata/resourceVersion").to_owned(),
            ),
        };
    }
    if !matches!(source.choice, ObjectChoice::Named(_)) {
        let name = text(object, "/metadata/name").to_owned();
        version.0.insert("object".to_owned(), name);
    }
    Ok(version)
}

/// Writes a value as a part of a version.
pub(super) fn part(value: &Value) -> String {
    let written = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let end = written.floor_char_boundary(MAX_PART);
    written[..end].to_owned()
}

/// Returns the word for the result of an object that is done by the source's own rules.
pub(super) fn result_of(source: &Source, object: &Value, has_status: bool) -> Option<String> {
    match judge(object, &source.tests.rules(has_status)) {
        ObjectVerdict::Done { reason } => Some(reason),
        _ => None,
    }
}

/// Returns true if both are versions of the same object in the same state.
pub(super) fn is_same(one: &Version, other: &Version) -> bool {
    let rest = |version: &Version| {
        let mut rest = version.0.clone();
        rest.remove("result");
        rest
    };
    rest(one) == rest(other)
}
