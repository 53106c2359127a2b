//! The server is killed in the middle of each kind of node. The build ends as if nothing had
//! happened: the same text, each step once.

use airside_scenarios::{
    ANEW, Counter, Server, assert_same_text,
    plans::{config, pipeline, task, with},
};
use serde_json::{Value, json};

const FILES: &str = r#"{"list.json": ["a", "b", "c"], "word": "hunter2"}"#;

fn resources() -> Value {
    let mut files: Value = serde_json::from_str(FILES).unwrap();
    files["task.json"] = json!(config("echo from a file").to_string());
    files["n"] = json!(ANEW);
    json!([{"name": "src", "type": "mock", "source": {"force_version": "1", "create_files": files}}])
}

/// Runs the plan undisturbed, then again with a kill while each of `held` is in its middle.
fn survives(plan: impl Fn(&Counter) -> Value, held: &[&str]) {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let mut steps = vec![json!({"get": "src"})];
    steps.extend(plan(&counter).as_array().unwrap().clone());
    let pipeline = pipeline(resources(), json!(steps));
    fly.pipeline_anew("p", &pipeline);
    fly.trigger_and_watch("p/job");
    let (expected, once) = (fly.watch(1), counter.arrivals());
    fly.pipeline_anew("p", &pipeline);
    held.iter().for_each(|name| counter.hold(name));
    let build = fly.trigger("p/job");
    for name in held {
        let seen = once.iter().filter(|other| other == name).count();
        counter.wait(name, seen + 1);
        server.kill_9();
        server.restart();
        counter.release(name);
    }
    let output = fly.watch(build.id);
    assert_same_text(&output.stdout, &expected.stdout);
    assert_eq!(output.code, expected.code);
    let arrivals = counter.arrivals();
    assert_eq!(arrivals[once.len()..], once);
}

#[test]
fn in_an_attempt_and_in_a_hook() {
    let plan = |counter: &Counter| {
        let bad = task("bad", &format!("{}; exit 1", counter.bump("bad")));
        let hook = task("hook", &counter.bump("hook"));
        json!([
            {"try": with(bad, json!({"attempts": 2, "on_failure": hook}))},
            with(task("work", &counter.bump("work")), json!({"ensure":
                task("last", &counter.bump("last"))})),
        ])
    };
    survives(plan, &["bad", "hook", "work", "last"]);
}

#[test]
fn in_a_hook_of_an_error() {
    let plan = |counter: &Counter| {
        let mut wrong = task("wrong", "");
        wrong["config"]["run"]["path"] = json!("/no/such/program");
        let hook = task("hook", &counter.bump("hook"));
        json!([
            {"try": with(wrong, json!({"on_error": hook}))},
            task("after", &counter.bump("after")),
        ])
    };
    survives(plan, &["hook", "after"]);
}

#[test]
fn in_a_substep_of_across() {
    let plan = |counter: &Counter| {
        let step = task("t", &counter.bump("n-((.:x))"));
        let across = json!({"across": [{"var": "x", "values": "((.:list))"}], "timeout": "10m"});
        json!([
            {"load_var": "list", "file": "src/list.json"},
            with(step, across),
            task("after", &counter.bump("after")),
        ])
    };
    survives(plan, &["n-b", "after"]);
}

#[test]
fn after_variables_and_files_were_read() {
    let plan = |counter: &Counter| {
        let mut show = task("show", &format!("{}; echo it is $W", counter.bump("show")));
        show["params"] = json!({"W": "((.:word))"});
        json!([
            {"load_var": "word", "file": "src/word"},
            {"task": "file", "file": "src/task.json"},
            show,
            task("again", &format!("{}; printf 'hun'; printf 'ter2\\n'", counter.bump("again"))),
        ])
    };
    survives(plan, &["show", "again"]);
}

#[test]
fn side_by_side_with_a_failure() {
    let plan = |counter: &Counter| {
        let steps = json!([task("bad", &format!("{}; exit 1", counter.bump("bad"))),]);
        json!([{"in_parallel": {"steps": steps, "fail_fast": true},
            "on_failure": task("hook", &counter.bump("hook"))}])
    };
    survives(plan, &["bad", "hook"]);
}
