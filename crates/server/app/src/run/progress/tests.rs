use serde_json::json;

use super::*;

fn told(events: &[(&str, Value)]) -> (Vec<String>, HashMap<String, Version>, Option<BuildStatus>) {
    let plan = json!({"id": "9", "do": [
        {"id": "1", "get": {"name": "src", "resource": "repo", "type": "mock"}},
        {"id": "2", "put": {"name": "out", "resource": "repo", "type": "mock"}},
        {"id": "3", "task": {"name": "unit"}},
    ]});
    let view = View::new();
    let mut progress = Progress::new(&view, "job", &plan);
    for (event, data) in events {
        progress.take(&json!({"event": event, "data": data}).to_string());
    }
    let steps = progress.reports().into_iter();
    let steps = steps.map(|step| format!("{} {}: {}", step.kind, step.name, step.status.name()));
    (steps.collect(), progress.versions(), progress.status())
}

fn at(id: &str) -> Value {
    json!({"origin": {"id": id}})
}

fn with(id: &str, key: &str, value: Value) -> Value {
    let mut data = at(id);
    data[key] = value;
    data
}

#[test]
fn events_say_how_steps_ended() {
    for (id, begin, end, expected) in [
        (
            "3",
            "initialize-task",
            ("finish-task", "exit_status", json!(0)),
            "task unit: succeeded",
        ),
        (
            "3",
            "initialize-task",
            ("finish-task", "exit_status", json!(3)),
            "task unit: failed",
        ),
        (
            "3",
            "initialize-task",
            ("error", "message", json!("no image")),
            "task unit: errored",
        ),
        (
            "3",
            "initialize-task",
            ("error", "message", json!("interrupted")),
            "task unit: aborted",
        ),
        (
            "3",
            "initialize-task",
            ("error", "message", json!("timeout exceeded")),
            "task unit: timed out",
        ),
        (
            "1",
            "initialize-get",
            ("finish-get", "exit_status", json!(1)),
            "get src: failed",
        ),
        (
            "3",
            "initialize",
            ("finish", "succeeded", json!(true)),
            "task unit: succeeded",
        ),
    ] {
        let (event, key, value) = end;
        let (steps, ..) = told(&[(begin, at(id)), (event, with(id, key, value))]);
        assert_eq!(steps, [expected]);
    }
}

#[test]
fn what_was_put_counts_more_than_what_was_got() {
    let version = |number: &str| json!({"v": number});
    let finish = |id: &str, number: &str| {
        let mut data = with(id, "version", version(number));
        data["exit_status"] = json!(0);
        data
    };
    let (get, put) = (
        ("finish-get", finish("1", "1")),
        ("finish-put", finish("2", "2")),
    );
    for events in [[get.clone(), put.clone()], [put, get.clone()]] {
        let (_, versions, _) = told(&events);
        assert_eq!(versions["repo"], Version::from([("v", "2")]));
    }
    let (_, versions, _) = told(&[get]);
    assert_eq!(versions["repo"], Version::from([("v", "1")]));
}

#[test]
fn a_build_ends_with_its_last_status_only() {
    let status = |status: &str| ("status", json!({"status": status}));
    assert_eq!(told(&[status("started")]).2, None);
    let (_, _, ended) = told(&[status("started"), status("failed")]);
    assert_eq!(ended, Some(BuildStatus::Failed));
}

#[test]
fn nonsense_is_left_out() {
    let view = View::new();
    let mut progress = Progress::new(&view, "job", &json!(null));
    for envelope in [
        "",
        "{",
        "[]",
        r#"{"event": "log"}"#,
        r#"{"event": "finish-get", "data": 1}"#,
    ] {
        progress.take(envelope);
    }
    assert!(progress.reports().is_empty());
}
