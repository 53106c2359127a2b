use serde_json::json;

use super::*;

fn no_pulls() -> PullLook {
    Arc::new(|_| None)
}

fn told(events: &[(&str, Value)]) -> (Vec<String>, HashMap<String, Version>, Option<BuildStatus>) {
    let plan = json!({"id": "9", "do": [
        {"id": "1", "get": {"name": "src", "resource": "repo", "type": "mock"}},
        {"id": "2", "put": {"name": "out", "resource": "repo", "type": "mock"}},
        {"id": "3", "task": {"name": "unit"}},
    ]});
    let view = View::new();
    let mut progress = Progress::new(&view, "job", &plan, no_pulls());
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
    let mut progress = Progress::new(&view, "job", &json!(null), no_pulls());
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

/// The events of a task until its image is fetched.
fn with_image() -> Vec<(&'static str, Value)> {
    let get = json!({"id": "3/image-get", "get": {"name": "image", "type": "registry-image"}});
    let mut image = at("3");
    image["plan"] = get;
    vec![
        ("initialize-task", at("3")),
        ("image-get", image),
        ("initialize-get", at("3/image-get")),
    ]
}

#[test]
fn the_get_of_an_image_ends_with_a_step_that_was_stopped() {
    let mut events = with_image();
    events.push(("error", with("3", "message", json!("interrupted"))));
    let (steps, _, _) = told(&events);
    assert_eq!(steps, ["task unit: aborted", "get unit image: aborted"]);
}

#[test]
fn a_task_takes_no_time_before_it_starts() {
    let view = View::new();
    let plan = json!({"id": "3", "task": {"name": "unit"}});
    let mut progress = Progress::new(&view, "job", &plan, no_pulls());
    let take = |progress: &mut Progress<'_>, (event, data): (&str, Value)| {
        progress.take(&json!({"event": event, "data": data}).to_string());
    };
    for event in with_image() {
        take(&mut progress, event);
    }
    let before = progress.steps.began("3").unwrap();
    let got = with("3/image-get", "exit_status", json!(0));
    take(&mut progress, ("finish-get", got));
    take(&mut progress, ("start-task", at("3")));
    assert!(progress.steps.began("3").unwrap() > before);
    take(
        &mut progress,
        ("finish-task", with("3", "exit_status", json!(0))),
    );
    let steps = progress.reports();
    assert!(
        steps
            .iter()
            .all(|step| step.status == StepStatus::Succeeded)
    );
    assert!(steps[0].took < before.elapsed());
}
