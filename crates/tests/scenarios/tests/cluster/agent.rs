//! One build on three kinds of workers: a pod, an agent, the server's own machine. Needs a cluster:
//! see `make test-cluster`.

use crate::support::{Namespace, WORKER};
use airside_scenarios::Agent;

/// A task that adds its name to the list that it gets, if it gets one, and hands it on.
fn link(name: &str, tags: &str, input: Option<&str>, output: &str) -> String {
    let (inputs, before) = match input {
        Some(input) => (
            format!("{{name: {input}}}"),
            format!("cp {input}/list {output}/"),
        ),
        None => (String::new(), "true".to_owned()),
    };
    format!(
        "  - task: {name}\n    tags: [{tags}]\n    config:\n      platform: linux\n      \
         image_resource: {{type: host, source: {{}}}}\n      inputs: [{inputs}]\n      outputs: [{{name: {output}}}]\n      \
         run: {{path: sh, args: [-c, '{before}; echo {name} >>{output}/list; cat {output}/list']}}\n"
    )
}

#[test]
fn a_pod_an_agent_and_the_servers_machine_hand_artifacts_on() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let _agent = Agent::start(&server, &fly, "far", &["--tag", "far"]);
    let plan = [
        link("first-here", "", None, "a"),
        link("in-a-pod", WORKER, Some("a"), "b"),
        link("far-away", "far", Some("b"), "c"),
        link("pod-again", WORKER, Some("c"), "d"),
        link("far-again", "far", Some("d"), "e"),
        link("here-again", "", Some("e"), "f"),
    ];
    fly.pipeline(
        "p",
        &format!("jobs:\n- name: job\n  plan:\n{}", plan.concat()),
    );
    let watched = fly.trigger_and_watch("p/job").succeeded();
    let lines = watched.lines();
    let chosen: Vec<_> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("selected worker: "))
        .collect();
    assert_eq!(chosen, ["local", WORKER, "far", WORKER, "far", "local"]);
    let names = [
        "first-here",
        "in-a-pod",
        "far-away",
        "pod-again",
        "far-again",
        "here-again",
    ];
    let tail: Vec<_> = lines
        .iter()
        .filter(|line| names.contains(&line.as_str()))
        .map(String::as_str)
        .collect();
    // Each prints what came before it, and itself.
    let expected: Vec<_> = (1..=names.len())
        .flat_map(|count| names[..count].to_vec())
        .collect();
    assert_eq!(tail, expected, "{lines:#?}");
    namespace.wait_until_no_pods();
}
