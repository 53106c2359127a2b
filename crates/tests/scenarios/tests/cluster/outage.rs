//! The cluster itself loses its API server or a node. Nothing else may use it meanwhile, so these
//! tests run only with `AIRSIDE_TEST_OUTAGE=1`, one after the other, on a cluster of two nodes of
//! their own: see `make test-cluster-all`.

use crate::support::{
    Namespace, cluster, one_task,
    outage::{ApiAway, HeldBuild, NodeAway, QUICK, last, node_of_a, wait_for_end},
    task,
};
use airside_scenarios::{Counter, wait_until};

#[test]
fn the_api_server_is_away_while_a_step_runs() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let held = HeldBuild::begin(&namespace, &fly);
    let away = ApiAway::begin(&namespace.cluster);
    last(30);
    // Results need no API server.
    held.release();
    held.was_not_disturbed(&fly);
    last(30);
    drop(away);
    held.was_not_disturbed(&fly);
    namespace.wait_until_no_pods();
}

#[test]
fn the_api_server_is_away_when_a_step_is_to_be_placed() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    let plan = [
        task("one", &counter.bump("one"), ""),
        task("two", &counter.bump("two"), ""),
    ]
    .concat();
    fly.pipeline("p", &format!("jobs:\n- name: build\n  plan:\n{plan}"));
    counter.hold("one");
    let build = fly.trigger("p/build");
    counter.wait("one", 1);
    let away = ApiAway::begin(&namespace.cluster);
    counter.release("one");
    wait_until("the second step waits", || {
        server.log().contains("placement postponed")
    });
    last(20);
    assert_eq!(
        (fly.status(build.id).as_str(), counter.count("two")),
        ("started", 0)
    );
    drop(away);
    assert_eq!(wait_for_end(&fly, build.id), "succeeded");
    assert_eq!((counter.count("one"), counter.count("two")), (1, 1));
    namespace.wait_until_no_pods();
}

#[test]
fn a_node_is_lost_under_a_task() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(QUICK);
    let fly = server.fly();
    counter.hold("run");
    fly.pipeline("p", &one_task(&counter.bump("run")));
    let build = fly.trigger("p/build");
    counter.wait("run", 1);
    let node = node_of_a(&namespace, "task");
    let away = NodeAway::begin(&namespace.cluster, &node);
    assert_eq!(wait_for_end(&fly, build.id), "errored");
    let said = fly.watch(build.id).ended_with(2).lines().join("\n");
    assert!(
        said.contains(&format!("node {node} does not answer")),
        "{said}"
    );
    assert!(said.contains("not run again by itself"), "{said}");
    drop(away);
    assert_eq!(counter.count("run"), 1, "never twice");
    namespace.wait_until_no_pods();
}

/// Returns the verbs of the server's requests that changed pods.
fn writes(namespace: &Namespace) -> Vec<String> {
    let account = format!("system:serviceaccount:{}:airside", namespace.name);
    let entries = cluster(&["audit"]);
    // The last line may be half written.
    let entries = entries
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    // Preflight asks what would become of a pod, which changes nothing, and sends one to look at a
    // node; no step does.
    let is_preflight = |entry: &serde_json::Value| {
        let uri = entry["requestURI"].as_str().unwrap_or_default();
        let name = entry["objectRef"]["name"].as_str().unwrap_or_default();
        uri.contains("dryRun=") || name.starts_with("airside-probe-")
    };
    let ours = entries
        .filter(|entry| entry["user"]["username"] == account.as_str() && !is_preflight(entry));
    let mut verbs: Vec<String> = ours
        .map(|entry| entry["verb"].as_str().unwrap().to_owned())
        .collect();
    verbs.sort();
    verbs
}

#[test]
fn a_step_costs_the_api_server_at_most_three_writes() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let plan: String = (0..5)
        .map(|number| task(&format!("t{number}"), "true", ""))
        .collect();
    fly.pipeline("p", &format!("jobs:\n- name: build\n  plan:\n{plan}"));
    fly.trigger_and_watch("p/build").succeeded();
    namespace.wait_until_no_pods();
    let writes = writes(&namespace);
    let count = |verb: &str| writes.iter().filter(|it| *it == verb).count();
    assert_eq!(count("create"), 5, "{writes:?}");
    assert_eq!(count("delete"), 5, "{writes:?}");
    assert_eq!(
        count("create") + count("delete"),
        writes.len(),
        "{writes:?}"
    );
    namespace.wait_until_no_pods();
}
