//! Names and labels of objects that Airside makes.
//!
//! A name is the pipeline's and the job's as far as they can be the name of an object. It gets
//! eight hex digits of a hash wherever something is lost (capitals, underscores, instance vars,
//! length), or where two jobs could have one name. The spec has the names in full.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Label with the name of the pipeline.
pub const PIPELINE_LABEL: &str = "ci.airside.dev/pipeline";
/// Label with the name of the job.
pub const JOB_LABEL: &str = "ci.airside.dev/job";
/// Label with the number of the build in the whole installation, which the build's pods have too.
pub const BUILD_LABEL: &str = "airside.dev/build";

/// Largest number of bytes of a pipeline's or a job's name within the name of an object.
const MAX_PART_BYTES: usize = 80;
/// Largest number of bytes of a label's value.
const MAX_LABEL_BYTES: usize = 63;

/// Returns the name of a pipeline's object.
pub fn pipeline_name(pipeline: &str, vars: &Map<String, Value>) -> String {
    let clean = cleaned(pipeline);
    if clean == pipeline && vars.is_empty() {
        return clean;
    }
    format!("{clean}-{}", hash(&[pipeline], vars))
}

/// Returns the name of a job's object.
pub fn job_name(pipeline: &str, vars: &Map<String, Value>, job: &str) -> String {
    let (first, second) = (cleaned(pipeline), cleaned(job));
    let is_whole = first == pipeline && second == job && vars.is_empty();
    // `a-b` of `c` and `b-c` of `a` would have one name.
    let is_clear = !pipeline.contains('-') && !job.contains('-');
    if is_whole && is_clear {
        return format!("{first}-{second}");
    }
    format!("{first}-{second}-{}", hash(&[pipeline, job], vars))
}

/// Returns the name of the object of a build that Airside shows.
pub fn build_name(pipeline: &str, vars: &Map<String, Value>, job: &str, build: &str) -> String {
    format!("{}-{}", job_name(pipeline, vars, job), cleaned(build))
}

/// Returns the labels of an object about a pipeline, and about a job and a build if they are given.
pub fn labels(pipeline: &str, job: Option<&str>, build: Option<i64>) -> BTreeMap<String, String> {
    let build = build.map(|id| id.to_string());
    let texts = [
        (PIPELINE_LABEL, Some(label_value(pipeline))),
        (JOB_LABEL, job.map(label_value)),
        (BUILD_LABEL, build),
    ];
    let given = texts.into_iter().filter_map(|(key, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some((key.to_owned(), value))
    });
    given.collect()
}

/// Returns the closest name of an object: lower-case letters, digits and `-`.
fn cleaned(text: &str) -> String {
    let plain = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            c
        } else {
            '-'
        }
    };
    let replaced: String = text.chars().map(plain).take(MAX_PART_BYTES).collect();
    let trimmed = replaced.trim_matches('-');
    if trimmed.is_empty() {
        "x".to_owned()
    } else {
        trimmed.to_owned()
    }
}

/// Returns the closest value of a label, as pods have it; empty if nothing of the text may stay.
fn label_value(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let replaced: String = text
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    let edge = |c: char| !c.is_ascii_alphanumeric();
    let trimmed = replaced.trim_start_matches(edge);
    // Every character is one byte by now, so cutting cannot split one.
    trimmed[..trimmed.len().min(MAX_LABEL_BYTES)]
        .trim_end_matches(edge)
        .to_owned()
}

/// Returns eight hex digits that stand for names and instance vars, in whatever order the vars are.
fn hash(names: &[&str], vars: &Map<String, Value>) -> String {
    let mut digest = Sha256::new();
    for name in names {
        digest.update((name.len() as u64).to_le_bytes());
        digest.update(name.as_bytes());
    }
    if !vars.is_empty() {
        digest.update(sorted(&Value::Object(vars.clone())).to_string());
    }
    hex::encode(&digest.finalize()[..4])
}

/// Returns a value whose maps are in the order of their keys.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let fields = fields
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn vars(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn plain_names_stay() {
        let none = Map::new();
        assert_eq!(pipeline_name("my-app", &none), "my-app");
        assert_eq!(job_name("app", &none, "unit"), "app-unit");
        assert_eq!(build_name("app", &none, "unit", "1042"), "app-unit-1042");
        assert_eq!(build_name("app", &none, "unit", "12.1"), "app-unit-12-1");
    }

    #[test]
    fn names_that_lose_something_have_a_hash() {
        let none = Map::new();
        for name in ["App", "my_app", "größe", "日本", "a.b", "a ", "-a", ""] {
            let object = pipeline_name(name, &none);
            assert_ne!(object, cleaned(name), "{name}");
            assert_eq!(
                object,
                format!("{}-{}", cleaned(name), hash(&[name], &none))
            );
        }
        let one = vars(json!({"branch": "main", "a": {"x": 1, "y": 2}}));
        let other = vars(json!({"a": {"y": 2, "x": 1}, "branch": "main"}));
        assert_eq!(pipeline_name("app", &one), pipeline_name("app", &other));
        assert_ne!(pipeline_name("app", &one), pipeline_name("app", &none));
        assert_ne!(job_name("a-b", &none, "c"), job_name("a", &none, "b-c"));
    }

    #[test]
    fn labels_are_what_pods_have() {
        let labels = labels("größe", Some("unit"), Some(7));
        let expected = [
            (BUILD_LABEL, "7"),
            (JOB_LABEL, "unit"),
            (PIPELINE_LABEL, "gr__e"),
        ];
        let expected: BTreeMap<_, _> = expected
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(labels, expected);
    }

    proptest! {
        #[test]
        fn names_are_names_of_objects(pipeline in ".{0,120}", job in ".{0,120}", number in 1..9999u32) {
            let name = build_name(&pipeline, &Map::new(), &job, &number.to_string());
            prop_assert!(name.len() <= 200);
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            prop_assert!(name.bytes().all(plain));
            prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
        }

        #[test]
        fn two_jobs_never_have_one_name(
            one in ("[a-c-]{1,4}", "[a-c-]{1,4}"), other in ("[a-c-]{1,4}", "[a-c-]{1,4}")
        ) {
            prop_assume!(one != other);
            let none = Map::new();
            prop_assert_ne!(job_name(&one.0, &none, &one.1), job_name(&other.0, &none, &other.1));
        }
    }
}
