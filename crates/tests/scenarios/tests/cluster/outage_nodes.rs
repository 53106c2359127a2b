//! Nodes that lose their power, or only their kubelet, under each kind of step. As `outage.rs`.

use crate::support::{
    Namespace,
    held::HeldType,
    one_task,
    outage::{NodeAway, QUICK, node_of_a, number, wait_for_end, wait_long},
    printed,
};
use airside_scenarios::Counter;

#[test]
fn a_node_is_lost_under_a_get() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(QUICK);
    let fly = server.fly();
    fly.pipeline("p", &HeldType::load(&namespace, &counter).pipeline());
    counter.hold("in");
    let build = fly.trigger("p/gets");
    counter.wait("in", 1);
    let node = node_of_a(&namespace, "get");
    let away = NodeAway::begin(&namespace.cluster, &node);
    wait_long("it is fetched on the other node", || {
        counter.count("in") == 2
    });
    counter.release("in");
    assert_eq!(wait_for_end(&fly, build.id), "succeeded");
    let said = fly.watch(build.id).succeeded().lines().join("\n");
    assert!(said.contains("placed again"), "{said}");
    assert!(said.contains(&format!("node {node}")), "{said}");
    drop(away);
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn a_node_is_lost_under_a_put() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(QUICK);
    let fly = server.fly();
    fly.pipeline("p", &HeldType::load(&namespace, &counter).pipeline());
    counter.hold("out");
    let build = fly.trigger("p/puts");
    counter.wait("out", 1);
    let node = node_of_a(&namespace, "put");
    let away = NodeAway::begin(&namespace.cluster, &node);
    assert_eq!(wait_for_end(&fly, build.id), "errored");
    let said = fly.watch(build.id).ended_with(2).lines().join("\n");
    assert!(said.contains(&format!("node {node}")), "{said}");
    assert!(said.contains("not run again by itself"), "{said}");
    drop(away);
    assert_eq!(counter.count("out"), 1, "never twice");
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn a_node_is_lost_under_a_check() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(QUICK);
    let fly = server.fly();
    fly.pipeline("p", &HeldType::load(&namespace, &counter).pipeline());
    counter.hold("check");
    let check = ["check-resource", "-r", "p/it", "--shallow", "--async"];
    fly.run(&check).succeeded();
    counter.wait("check", 1);
    let node = node_of_a(&namespace, "check");
    let away = NodeAway::begin(&namespace.cluster, &node);
    wait_long("it is checked on the other node", || {
        counter.count("check") == 2
    });
    counter.release("check");
    // The version that it found is there to be fetched.
    let build = fly.trigger("p/gets");
    assert_eq!(wait_for_end(&fly, build.id), "succeeded");
    drop(away);
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}

#[test]
fn the_kubelet_is_restarted_under_a_task() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(QUICK);
    let fly = server.fly();
    let script = format!("echo before; {}; echo after", counter.bump("run"));
    fly.pipeline("p", &one_task(&script));
    let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());
    // Or there would be two pods to look at.
    namespace.wait_until_no_pods();
    counter.hold("run");
    let build = fly.trigger("p/build");
    counter.wait("run", 2);
    let node = node_of_a(&namespace, "task");
    namespace.cluster.ask(&["kubelet-restart", &number(&node)]);
    counter.release("run");
    assert_eq!(printed(&fly.watch(build.id).succeeded()), undisturbed);
    assert_eq!(counter.count("run"), 2);
    namespace.wait_until_no_pods();
}
