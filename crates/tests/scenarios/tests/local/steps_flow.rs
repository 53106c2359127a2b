//! The order of steps: hooks, tries, attempts, timeouts and across.

use airside_scenarios::{
    Counter, Fly, Server,
    plans::{pipeline, task, with},
};
use serde_json::{Value, json};

/// Runs a plan to its end; gives the exit code of `fly`, who came, and what was printed.
fn run(fly: &Fly, counter: &Counter, plan: Value) -> (i32, Vec<String>, String) {
    let before = counter.arrivals().len();
    fly.pipeline("p", &pipeline(json!([]), plan));
    let output = fly.trigger_and_watch("p/job");
    let arrived = counter.arrivals().split_off(before);
    (output.code.unwrap(), arrived, output.stdout)
}

fn hooks(counter: &Counter) -> Value {
    let hook = |name: &str| task(name, &counter.bump(name));
    json!({
        "on_success": hook("success"), "on_failure": hook("failure"), "on_error": hook("error"),
        "on_abort": hook("abort"), "ensure": hook("ensure"),
    })
}

#[test]
fn hooks_run_for_what_they_are_named_after() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let mut missing = task("missing", "");
    missing["config"]["run"]["path"] = json!("no-such-program");
    for (step, code, arrived) in [
        (task("ok", "exit 0"), 0, ["success", "ensure"]),
        (task("bad", "exit 3"), 1, ["failure", "ensure"]),
        (missing, 2, ["error", "ensure"]),
    ] {
        let plan = json!([with(step, hooks(&counter))]);
        let ended = run(&fly, &counter, plan);
        assert_eq!(
            (ended.0, ended.1),
            (code, arrived.map(str::to_owned).to_vec())
        );
    }
}

#[test]
fn an_aborted_build_still_runs_its_hooks() {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    counter.hold("work");
    counter.hold("abort");
    let step = with(task("work", &counter.bump("work")), hooks(&counter));
    let plan = json!([step, task("after", &counter.bump("after"))]);
    fly.pipeline("p", &pipeline(json!([]), plan));
    let build = fly.trigger("p/job");
    counter.wait("work", 1);
    let id = build.id.to_string();
    fly.run(&["abort-build", "-b", &id]).succeeded();
    counter.wait("abort", 1);
    // A crash in the middle of the hook changes nothing.
    server.kill_9();
    server.restart();
    counter.release("abort");
    let output = fly.watch(build.id).ended_with(3);
    assert_eq!(counter.arrivals(), ["work", "abort", "ensure"]);
    assert_eq!(
        output.stdout.matches("interrupted").count(),
        1,
        "{output:?}"
    );
    assert_eq!(fly.status(build.id), "aborted");
}

#[test]
fn a_try_goes_on_and_attempts_end_with_the_first_success() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let bad = task("bad", &format!("{}; exit 1", counter.bump("bad")));
    let plan = json!([
        {"try": with(bad, json!({"attempts": 3}))},
        with(task("good", &counter.bump("good")), json!({"attempts": 3})),
    ]);
    let (code, arrived, _) = run(&fly, &counter, plan);
    assert_eq!(
        (code, arrived),
        (0, ["bad", "bad", "bad", "good"].map(str::to_owned).to_vec())
    );
}

#[test]
fn what_has_had_its_time_has_failed() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let script = |name: &str| format!("{}; sleep 600", counter.bump(name));
    for step in [
        with(task("alone", &script("alone")), json!({"timeout": "1s"})),
        json!({"do": [task("inside", &script("inside"))], "timeout": "1s"}),
        json!({"in_parallel": [task("one", &script("one")), task("two", &script("two"))],
            "timeout": "1s"}),
    ] {
        let (code, arrived, printed) = run(&fly, &counter, json!([with(step, hooks(&counter))]));
        assert_eq!(code, 1, "{printed}");
        assert_eq!(
            arrived[arrived.len() - 2..],
            ["failure", "ensure"],
            "{printed}"
        );
        assert!(printed.contains("timeout exceeded"), "{printed}");
        assert!(!printed.contains("interrupted"), "{printed}");
    }
}

#[test]
fn time_goes_on_while_the_server_is_away() {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let script = format!("{}; sleep 600", counter.bump("work"));
    let step = with(task("work", &script), json!({"timeout": "15s"}));
    fly.pipeline(
        "p",
        &pipeline(json!([]), json!([with(step, hooks(&counter))])),
    );
    let build = fly.trigger("p/job");
    counter.wait("work", 1);
    server.kill_9();
    server.restart();
    let output = fly.watch(build.id).ended_with(1);
    assert!(output.stdout.contains("timeout exceeded"), "{output:?}");
    assert_eq!(counter.arrivals(), ["work", "failure", "ensure"]);
}

#[test]
fn across_goes_through_all_combinations() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let step = with(
        task("t-((.:a))", &counter.bump("((.:a))-((.:b.k))")),
        json!({"across": [
            {"var": "a", "values": ["x", "y"]},
            {"var": "b", "values": [{"k": 1}, {"k": 2}]},
        ]}),
    );
    let (code, arrived, printed) = run(&fly, &counter, json!([step]));
    assert_eq!(code, 0, "{printed}");
    assert_eq!(arrived, ["x-1", "x-2", "y-1", "y-2"]);
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (_, events) = server.http("GET", "/api/v1/builds/1/events", &headers, "");
    assert!(events.contains(r#""event":"across-substeps""#), "{events}");
}

#[test]
fn across_stops_at_the_first_failure_if_it_should() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let script = format!("{}; test ((.:a)) != 2", counter.bump("n((.:a))"));
    let across = |more: Value| {
        let across = json!({"across": [{"var": "a", "values": [1, 2, 3]}]});
        with(with(task("t", &script), across), more)
    };
    let (code, arrived, printed) = run(&fly, &counter, json!([across(json!({}))]));
    assert_eq!((code, arrived.len()), (1, 3), "{printed}");
    let (code, arrived, printed) = run(&fly, &counter, json!([across(json!({"fail_fast": true}))]));
    assert_eq!((code, arrived.len()), (1, 2), "{printed}");
}

#[test]
fn a_prototype_is_only_pretended() {
    let server = Server::start();
    let fly = server.fly();
    let text = "prototypes: [{name: proto, type: mock}]\n\
                jobs: [{name: job, plan: [{run: hello, type: proto}]}]";
    fly.pipeline("p", text);
    let output = fly.trigger_and_watch("p/job").succeeded();
    let lines = output.lines().join("\n");
    let expected =
        "the run step is not yet implemented\n\npretending to run hello on prototype proto...";
    assert!(lines.contains(expected), "{lines}");
}
