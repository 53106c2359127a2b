//! State that is one JSON object, and the difference between two of them: pure.

use airside_model::BuildStatus;
use airside_store::{Build, DashboardPipeline, Micros};
use serde_json::{Map, Value, json};

use crate::item;

/// The fields of a topic that has an object.
pub(crate) type Fields = Map<String, Value>;

/// Returns the fields that pages show of a pipeline.
pub(crate) fn of_pipeline(pipeline: &DashboardPipeline) -> Fields {
    let jobs = pipeline.jobs.iter();
    let jobs: Fields = jobs
        .map(|job| (job.id.to_string(), json!(item::status_char(job))))
        .collect();
    Fields::from_iter([
        ("flags".to_owned(), json!(item::flags(pipeline))),
        ("since".to_owned(), json!(item::since(pipeline))),
        ("failing".to_owned(), json!(pipeline.failing_checks)),
        ("jobs".to_owned(), Value::Object(jobs)),
    ])
}

/// Returns the fields that pages show of a build.
pub(crate) fn of_build(build: &Build) -> Fields {
    let seconds = |time: Option<Micros>| json!(time.map(Micros::seconds));
    let status = BuildStatus::as_str(build.status);
    Fields::from_iter([
        ("status".to_owned(), json!(status)),
        ("created".to_owned(), json!(build.created_at.seconds())),
        ("started".to_owned(), seconds(build.started_at)),
        ("ended".to_owned(), seconds(build.ended_at)),
    ])
}

/// Returns the fields that are others, within objects too; what is no more is `null`.
pub(crate) fn difference(before: &Fields, after: &Fields) -> Fields {
    let mut changed = Fields::new();
    for (name, new) in after {
        match (before.get(name), new) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                changed.insert(name.clone(), Value::Object(difference(old, new)));
            }
            _ => {
                changed.insert(name.clone(), new.clone());
            }
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    changed.extend(gone.map(|name| (name.clone(), Value::Null)));
    changed
}

#[cfg(test)]
mod tests {
    use airside_model::BuildStatus;

    use super::*;
    use crate::item::tests::{job, pipeline};

    #[test]
    fn a_pipeline_has_a_field_for_each_job() {
        let mut shown = pipeline(7, 1);
        shown.jobs.push(job(71, Some(BuildStatus::Succeeded)));
        let before = of_pipeline(&shown);
        let expected =
            json!({"flags": 0, "since": 5, "failing": 0, "jobs": {"70": "0", "71": "1"}});
        assert_eq!(Value::Object(before.clone()), expected);
        shown.jobs.remove(0);
        shown.jobs[0].paused = true;
        shown.public = true;
        let changed = difference(&before, &of_pipeline(&shown));
        let expected = json!({"flags": 4, "since": 0, "jobs": {"71": "g", "70": null}});
        assert_eq!(Value::Object(changed), expected);
    }

    #[test]
    fn only_differences_are_sent() {
        for (before, after, expected) in [
            (json!({}), json!({}), json!({})),
            (json!({"a": 1}), json!({"a": 1}), json!({})),
            (
                json!({"a": 1}),
                json!({"a": 2, "b": 1}),
                json!({"a": 2, "b": 1}),
            ),
            (json!({"a": 1}), json!({}), json!({"a": null})),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 1}}),
                json!({"a": {"c": null}}),
            ),
            (json!({"a": {"b": 1}}), json!({"a": 1}), json!({"a": 1})),
            (
                json!({"a": null}),
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 1}}),
            ),
        ] {
            let [before, after] = [before, after].map(|value| match value {
                Value::Object(fields) => fields,
                _ => panic!("not an object"),
            });
            assert_eq!(Value::Object(difference(&before, &after)), expected);
        }
    }
}
