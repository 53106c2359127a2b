//! Finds out whether a status is about the object as it is now, or as it was.

use serde_json::Value;

use crate::{FieldTest, conditions, verdict::number};

/// The conditions that the rules for any kind read.
const CONVENTIONAL: &[&str] = &["Stalled", "Reconciling", "Succeeded", "Ready"];

/// Returns the object's generation; of one that has none, 0.
pub(crate) fn of(object: &Value) -> i64 {
    number(object, "/metadata/generation").unwrap_or_default()
}

/// Returns a sentence if the status, or a condition that would be read, is about an earlier
/// generation.
pub(crate) fn behind<'a>(
    object: &Value,
    is_always_reported: bool,
    tests: impl Iterator<Item = &'a FieldTest>,
) -> Option<String> {
    let generation = of(object);
    let observed = number(object, "/status/observedGeneration");
    let observed = observed.or_else(|| is_always_reported.then_some(0));
    if let Some(observed) = observed.filter(|observed| *observed < generation) {
        return Some(format!(
            "its status is about generation {observed}, and it has generation {generation}"
        ));
    }
    let named = tests.filter_map(|test| match test {
        FieldTest::Condition { type_, .. } => Some(type_.as_str()),
        _ => None,
    });
    let mut read = named.chain(CONVENTIONAL.iter().copied());
    let late = read.find(|type_| {
        let found = conditions::find(object, type_);
        found.is_some_and(|found| found.is_behind(generation))
    })?;
    Some(format!(
        "its condition {late} is not yet about generation {generation}"
    ))
}
