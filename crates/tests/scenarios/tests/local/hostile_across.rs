//! `across` with values that cost too much, and with secrets.

use airside_scenarios::{
    Counter, Fly, Server,
    plans::{pipeline, task, with},
};
use serde_json::{Value, json};

const SECRET: &str = "hunter2-secret-value";

fn events(server: &Server, fly: &Fly, build: i64) -> String {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let path = format!("/api/v1/builds/{build}/events");
    server.http("GET", &path, &headers, "").1
}

/// A pipeline of one job, with a var source that knows [`SECRET`] as `((d:s))`.
fn with_secret(plan: Value) -> String {
    let source = json!({"name": "d", "type": "dummy", "config": {"vars": {"s": SECRET}}});
    let jobs = json!([{"name": "job", "plan": plan}]);
    json!({"var_sources": [source], "jobs": jobs}).to_string()
}

#[test]
fn hostile_numbers_of_combinations_err_before_any_begins() {
    let (server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    let mut write = task("write", "seq 101 | sed 's/^/- v/' > o/list.yml");
    write["config"]["outputs"] = json!([{"name": "o"}]);
    let vars = |names: &[&str]| -> Value {
        let var = |name: &&str| json!({"var": name, "values": "((.:list))"});
        names.iter().map(var).collect()
    };
    let step = task("t", &counter.bump("begun"));
    let flat = with(step.clone(), json!({"across": vars(&["a", "b"])}));
    let inner = with(step, json!({"across": vars(&["b"])}));
    let nested = json!({"do": [inner], "across": vars(&["a"])});
    for across in [flat, nested] {
        let load = json!({"load_var": "list", "file": "o/list.yml"});
        let plan = json!([write.clone(), load, across]);
        fly.pipeline("p", &pipeline(json!([]), plan));
        let output = fly.trigger_and_watch("p/job").ended_with(2);
        let words = "`across` may have 10000 combinations of values at most";
        assert!(output.stdout.contains(words), "{output:?}");
    }
    assert_eq!(counter.arrivals(), [""; 0]);
    let list: Vec<usize> = (0..101).collect();
    let var = |name: &str| json!({"var": name, "values": list});
    let known = with(task("t", "true"), json!({"across": [var("a"), var("b")]}));
    let refused = fly.set_pipeline("q", &pipeline(json!([]), json!([known])));
    let words = "more than 10000 combinations of values";
    assert!(
        refused.stdout.contains(words) || refused.stderr.contains(words),
        "{refused:?}"
    );
}

#[test]
fn secrets_in_values_do_not_show_also_after_a_crash() {
    let (mut server, counter) = (Server::start(), Counter::start());
    let fly = server.fly();
    counter.hold("first");
    let script = format!("{}; echo it is $V", counter.bump("first"));
    let mut step = task("t-((.:v))", &script);
    step["params"] = json!({"V": "((.:v))"});
    let step = with(
        step,
        json!({"across": [{"var": "v", "values": ["((d:s))"]}]}),
    );
    fly.pipeline("p", &with_secret(json!([step])));
    let build = fly.trigger("p/job");
    counter.wait("first", 1);
    server.kill_9();
    server.restart();
    counter.release("first");
    let output = fly.watch(build.id).succeeded();
    assert!(output.stdout.contains("it is ((redacted))"), "{output:?}");
    let events = events(&server, &fly, build.id);
    assert!(events.contains(r#""values":["((redacted))"]"#), "{events}");
    assert!(!events.contains(SECRET), "{events}");
}

#[test]
fn secrets_in_a_tasks_path_and_folder_do_not_show() {
    let server = Server::start();
    let fly = server.fly();
    let mut step = task("t", "true");
    step["config"]["run"] = json!({"path": "/((d:s))/x", "dir": "((d:s))", "user": "((d:s))"});
    fly.pipeline("p", &with_secret(json!([step])));
    let build = fly.trigger("p/job");
    let output = fly.watch(build.id);
    assert!(!output.stdout.contains(SECRET), "{output:?}");
    let events = events(&server, &fly, build.id);
    assert!(events.contains("initialize-task"), "{events}");
    assert!(!events.contains(SECRET), "{events}");
}

#[test]
fn values_of_all_types_may_be_params() {
    let server = Server::start();
    let fly = server.fly();
    let mut step = task("((.:v))", "echo \"<$INNER|$OUTER>\"");
    step["config"]["params"] = json!({"INNER": "((.:v))"});
    step["params"] = json!({"OUTER": "((.:m))"});
    let vars = json!([
        {"var": "v", "values": [1, 2.5, true]},
        {"var": "m", "values": [{"a": 1}, null]},
    ]);
    let step = with(step, json!({"across": vars}));
    fly.pipeline("p", &pipeline(json!([]), json!([step])));
    let output = fly.trigger_and_watch("p/job").succeeded();
    for value in ["1", "2.5", "true"] {
        for other in [r#"{"a":1}"#, ""] {
            let line = format!("<{value}|{other}>");
            assert!(output.stdout.contains(&line), "{line}: {output:?}");
        }
    }
}
