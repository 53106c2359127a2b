//! Tables: plans and events in, trees as text out.

use airside_model::BuildStatus;
use serde_json::{Value, json};

use super::*;

fn task(id: &str) -> Value {
    json!({"id": id, "task": {"name": format!("t{id}"), "privileged": false, "hermetic": false}})
}

fn event(picture: &mut BuildPicture, event: &str, id: &str, fields: Value) {
    let mut data = json!({"time": 100, "origin": {"id": id}});
    for (key, value) in fields.as_object().unwrap() {
        data[key] = value.clone();
    }
    let envelope = json!({"data": data, "event": event, "version": "1.0", "event_id": "0"});
    picture.take_envelope(envelope.to_string().as_bytes());
}

/// Applies `1 run`, `1 ok`, `1 bad`, `1 err WORDS`.
fn tell(picture: &mut BuildPicture, story: &str) {
    for line in story
        .split(',')
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (id, what) = line.split_once(' ').unwrap();
        match what.split_once(' ').unwrap_or((what, "")) {
            ("run", _) => event(picture, "initialize-task", id, json!({})),
            ("ok", _) => event(picture, "finish-task", id, json!({"exit_status": 0})),
            ("bad", _) => event(picture, "finish-task", id, json!({"exit_status": 1})),
            ("err", words) => event(picture, "error", id, json!({"message": words})),
            other => panic!("{other:?}"),
        }
    }
}

fn letters(picture: &BuildPicture, build: BuildStatus) -> String {
    let states = PictureStates::of(picture, build);
    let letter = |(place, node): (usize, &PictureNode)| {
        let state = match states.state(place) {
            PictureState::NotRun => "-",
            PictureState::Pending => ".",
            PictureState::Running => "r",
            PictureState::Succeeded => "s",
            PictureState::Failed => "f",
            PictureState::Errored => "e",
            PictureState::Aborted => "a",
        };
        format!("{}{state}", node.id)
    };
    let all: Vec<_> = picture.nodes().iter().enumerate().map(letter).collect();
    all.join(" ")
}

#[track_caller]
fn check(plan: &Value, table: &[(&str, BuildStatus, &str)]) {
    for (story, build, expected) in table {
        let mut picture = BuildPicture::new(Some(plan));
        tell(&mut picture, story);
        assert_eq!(letters(&picture, *build), *expected, "{story:?}, {build}");
    }
}

use BuildStatus::{Aborted, Errored, Failed, Started, Succeeded};

#[test]
fn steps_in_order_stop_at_the_first_that_does_not_succeed() {
    let plan = json!({"id": "d", "do": [task("1"), task("2"), task("3")]});
    check(
        &plan,
        &[
            ("", Started, "d. 1. 2. 3."),
            ("", Errored, "d- 1- 2- 3-"),
            ("1 run", Started, "dr 1r 2. 3."),
            ("1 run, 1 ok", Started, "dr 1s 2. 3."),
            ("1 run, 1 ok, 2 run, 2 bad", Started, "df 1s 2f 3-"),
            ("1 run, 1 err no such image", Errored, "de 1e 2- 3-"),
            ("1 run, 1 err interrupted", Aborted, "da 1a 2- 3-"),
            ("1 run, 1 err timeout exceeded", Failed, "df 1f 2- 3-"),
            ("1 run", Aborted, "da 1a 2- 3-"),
            ("1 run", Errored, "de 1e 2- 3-"),
            ("1 ok, 2 ok, 3 ok", Succeeded, "ds 1s 2s 3s"),
        ],
    );
}

#[test]
fn steps_side_by_side_end_with_the_worst() {
    let plan = json!({"id": "p", "in_parallel": {"steps": [task("1"), task("2")]}});
    check(
        &plan,
        &[
            ("1 ok", Started, "pr 1s 2."),
            ("1 ok, 2 run", Started, "pr 1s 2r"),
            ("1 bad, 2 err broken", Started, "pe 1f 2e"),
            ("1 bad, 2 err interrupted", Failed, "pf 1f 2a"),
            ("1 err interrupted, 2 err interrupted", Aborted, "pa 1a 2a"),
            ("1 ok, 2 ok", Started, "ps 1s 2s"),
        ],
    );
}

#[test]
fn hooks_join_their_steps() {
    let hook = |kind: &str| json!({"id": "h", kind: {"step": task("1"), kind: task("2")}});
    check(
        &hook("on_failure"),
        &[
            ("1 run", Started, "hr 1r 2."),
            ("1 ok", Started, "hs 1s 2-"),
            ("1 bad", Started, "hr 1f 2."),
            ("1 bad, 2 run", Started, "hr 1f 2r"),
            ("1 bad, 2 ok", Failed, "hf 1f 2s"),
            ("1 bad, 2 err x", Errored, "he 1f 2e"),
        ],
    );
    check(
        &hook("ensure"),
        &[
            ("1 ok", Started, "hr 1s 2."),
            ("1 ok, 2 bad", Failed, "hf 1s 2f"),
            ("1 err x, 2 ok", Errored, "he 1e 2s"),
        ],
    );
    check(
        &hook("on_success"),
        &[
            ("1 ok, 2 bad", Failed, "hf 1s 2f"),
            ("1 bad", Started, "hf 1f 2-"),
        ],
    );
    check(&hook("on_error"), &[("1 err x, 2 ok", Errored, "he 1e 2s")]);
    check(
        &hook("on_abort"),
        &[("1 err interrupted, 2 ok", Aborted, "ha 1a 2s")],
    );
}

#[test]
fn wrappers_change_the_end_of_their_step() {
    let tried = json!({"id": "w", "try": {"step": task("1")}});
    check(
        &tried,
        &[
            ("1 bad", Succeeded, "ws 1f"),
            ("1 err x", Succeeded, "ws 1e"),
            ("1 err interrupted", Aborted, "wa 1a"),
            ("1 run", Started, "wr 1r"),
        ],
    );
    let timed = json!({"id": "w", "timeout": {"step": task("1"), "duration": "1h"}});
    check(&timed, &[("1 err timeout exceeded", Failed, "wf 1f")]);
    let retried = json!({"id": "w", "retry": [task("1"), task("2"), task("3")]});
    check(
        &retried,
        &[
            ("", Started, "w. 1. 2. 3."),
            ("1 bad", Started, "wr 1f 2. 3."),
            ("1 bad, 2 ok", Started, "ws 1f 2s 3-"),
            ("1 bad, 2 err x, 3 bad", Failed, "wf 1f 2e 3f"),
            ("1 err interrupted", Aborted, "wa 1a 2- 3-"),
        ],
    );
}

#[test]
fn across_grows_when_its_values_are_known() {
    let plan = json!({"id": "x", "across": {"vars": [{"name": "go"}, {"name": "db"}]}});
    let mut picture = BuildPicture::new(Some(&plan));
    event(&mut picture, "initialize", "x", json!({}));
    assert_eq!(letters(&picture, Started), "xr");
    let substeps = json!({"substeps": [
        {"step": task("x/0"), "values": ["1.26", "sqlite"]},
        {"step": task("x/1"), "values": ["1.26", {"a": 1}]},
    ]});
    for _ in 0..2 {
        event(&mut picture, "across-substeps", "x", substeps.clone());
    }
    tell(&mut picture, "x/0 run, x/0 bad");
    assert_eq!(letters(&picture, Started), "xr x/0f x/1.");
    assert_eq!(picture.nodes()[2].values, [json!("1.26"), json!({"a": 1})]);
    event(&mut picture, "finish", "x", json!({"succeeded": false}));
    assert_eq!(letters(&picture, Failed), "xf x/0f x/1-");
}

#[test]
fn images_are_steps_of_their_step() {
    let embedded = json!({"id": "1", "get": {"name": "repo", "type": "custom", "image_check_plan": {
        "id": "1/check", "check": {"name": "custom", "type": "mock"},
    }}});
    let mut picture = BuildPicture::new(Some(&json!({"id": "d", "do": [embedded, task("2")]})));
    let plan = json!({"id": "2/get", "get": {"name": "image", "type": "mock", "version": {"digest": "a"}}});
    for id in ["2/get", "2/get"] {
        event(&mut picture, "image-get", "2", json!({"plan": plan}));
        event(
            &mut picture,
            "finish-get",
            id,
            json!({"exit_status": 0, "version": {"digest": "b"}}),
        );
    }
    assert_eq!(letters(&picture, Started), "d. 1. 1/check. 2. 2/gets");
    let image = &picture.nodes()[picture.nodes()[3].images[0]];
    assert_eq!(image.facts.version, Some([("digest", "b")].into()));
    assert_eq!(image.planned, Some([("digest", "a")].into()));
}

#[test]
fn facts_come_from_events() {
    let plan = json!({"id": "d", "do": [
        {"id": "1", "put": {"name": "out", "type": "mock"}},
        {"id": "2", "set_pipeline": {"name": "self", "team": "", "instance_vars": null}},
    ]});
    let mut picture = BuildPicture::new(Some(&plan));
    event(&mut picture, "initialize-put", "1", json!({"time": 5}));
    event(&mut picture, "waiting-for-worker", "1", json!({"time": 6}));
    assert!(picture.nodes()[1].facts.waits_for_worker);
    event(
        &mut picture,
        "selected-worker",
        "1",
        json!({"selected_worker": "w"}),
    );
    event(&mut picture, "start-put", "1", json!({"time": 8}));
    event(&mut picture, "log", "1", json!({"payload": "hello"}));
    let finish = json!({"time": 9, "exit_status": 0, "version": {"v": "1"}, "metadata": [{"name": "a", "value": "b"}]});
    event(&mut picture, "finish-put", "1", finish);
    event(
        &mut picture,
        "set-pipeline-changed",
        "2",
        json!({"changed": true}),
    );
    event(&mut picture, "status", "", json!({"status": "succeeded"}));
    event(&mut picture, "error", "", json!({"message": "no plan"}));
    picture.take_envelope(b"{\"event\":7}");
    let facts = &picture.nodes()[1].facts;
    assert_eq!(
        (facts.began, facts.started, facts.ended),
        (Some(5_000), Some(8_000), Some(9_000))
    );
    assert_eq!(
        (facts.worker.as_deref(), facts.waits_for_worker),
        (Some("w"), false)
    );
    assert_eq!((facts.exit_status, facts.metadata.len()), (Some(0), 1));
    assert_eq!(picture.nodes()[2].facts.changed, Some(true));
    assert_eq!(
        (picture.status(), picture.errors()),
        (Some(Succeeded), &["no plan".to_owned()][..])
    );
    picture.set_end("1", PictureState::Succeeded, 5_120, 9_340);
    let states = PictureStates::of(&picture, Started);
    let span = PictureSpan {
        began: Some(5_120),
        started: Some(8_000),
        ended: Some(9_340),
    };
    assert_eq!((states.span(1), states.span(0).began), (span, Some(5_120)));
}

#[test]
fn the_reason_why_a_step_does_not_run_is_a_step() {
    let plan = json!({"id": "d", "do": [
        task("1"),
        {"id": "p", "in_parallel": {"steps": [task("2")]}},
        task("3"),
    ]});
    let mut picture = BuildPicture::new(Some(&plan));
    tell(&mut picture, "1 bad");
    let states = PictureStates::of(&picture, Failed);
    assert_eq!(letters(&picture, Failed), "df 1f p- 2- 3-");
    assert_eq!([2, 3, 4].map(|place| states.cause(place)), [Some(1); 3]);
}

/// A plan of all kinds, with nodes numbered from the outermost.
fn grown(seed: &mut u64, depth: u32, next: &mut u32) -> Value {
    let mut random = |below: u64| {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    };
    *next += 1;
    let id = next.to_string();
    let kind = if depth == 0 { 0 } else { random(9) };
    let count = random(3) + 1;
    let mut many = |next: &mut u32| -> Vec<Value> {
        (0..count).map(|_| grown(seed, depth - 1, next)).collect()
    };
    match kind {
        1 => json!({"id": id, "do": many(next)}),
        2 => json!({"id": id, "in_parallel": {"steps": many(next)}}),
        3 => json!({"id": id, "retry": many(next)}),
        4 => json!({"id": id, "try": {"step": grown(seed, depth - 1, next)}}),
        5 => json!({"id": id, "timeout": {"step": grown(seed, depth - 1, next), "duration": "1m"}}),
        6 => {
            let step = grown(seed, depth - 1, next);
            json!({"id": id, "on_failure": {"step": step, "on_failure": grown(seed, depth - 1, next)}})
        }
        7 => {
            let step = grown(seed, depth - 1, next);
            json!({"id": id, "ensure": {"step": step, "ensure": grown(seed, depth - 1, next)}})
        }
        _ => task(&id),
    }
}

#[test]
fn events_in_pieces_or_twice_make_the_same_picture_and_finished_builds_have_finished_steps() {
    for seed in 1..400_u64 {
        let (mut state, mut next) = (seed, 0);
        let plan = grown(&mut state, 4, &mut next);
        let mut stories = Vec::new();
        for id in 1..=next {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed);
            let ends = ["run", "ok", "bad", "err x", "err interrupted", "run, {} ok"];
            let end = ends[(state >> 40) as usize % ends.len()].replace("{}", &id.to_string());
            if state >> 60 > 3 {
                stories.push(format!("{id} {end}"));
            }
        }
        let leaves: Vec<_> = {
            let picture = BuildPicture::new(Some(&plan));
            let is_leaf = |story: &&String| {
                let id = story.split(' ').next().unwrap();
                picture.nodes()[picture.find(id).unwrap()].kind.is_step()
            };
            stories.iter().filter(is_leaf).cloned().collect()
        };
        let mut whole = BuildPicture::new(Some(&plan));
        tell(&mut whole, &leaves.join(","));
        let mut pieces = BuildPicture::new(Some(&plan));
        for story in &leaves {
            tell(&mut pieces, story);
            tell(&mut pieces, story);
        }
        for build in [Started, Succeeded, Failed, Errored, Aborted] {
            let shown = letters(&whole, build);
            assert_eq!(shown, letters(&pieces, build), "{plan}");
            let unfinished = |state: &str| state.ends_with('.') || state.ends_with('r');
            assert!(
                build == Started || !shown.split(' ').any(unfinished),
                "{build}: {shown} {plan}"
            );
        }
    }
}
