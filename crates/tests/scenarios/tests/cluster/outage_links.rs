//! Clusters that are well but out of reach: the hub cannot be reached, or a whole cluster is lost
//! beside another. As `outage.rs`; the latter wants a second cluster, which
//! `AIRSIDE_TEST_SECOND_CLUSTER` names.

use std::fs;

use crate::support::{
    Namespace, WORKER, one_task,
    outage::{ApiAway, Cut, HeldBuild, NodeAway, last, wait_for_end, wait_long},
    worker_field,
};
use airside_scenarios::{Counter, ServerOptions};

#[test]
fn the_hub_cannot_be_reached_for_a_minute() {
    let Some(namespace) = Namespace::to_break() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let held = HeldBuild::begin(&namespace, &fly);
    let cut = Cut::begin(&namespace.cluster, server.hub_port());
    held.release();
    // It goes on to its end, and the server does not learn of it.
    held.wait_for_its_end();
    last(60);
    assert_eq!(fly.status(held.id), "started");
    drop(cut);
    assert_eq!(wait_for_end(&fly, held.id), "succeeded");
    held.was_not_disturbed(&fly);
    namespace.wait_until_no_pods();
}

#[test]
fn one_of_two_clusters_is_lost() {
    let Some(stays) = Namespace::to_break() else {
        return;
    };
    let Some(leaves) = Namespace::of_second_cluster() else {
        return;
    };
    // Each counts at the address that its own pods see.
    let (here, there) = (
        Counter::start_at(stays.host),
        Counter::start_at(leaves.host),
    );
    let file = stays.kubeconfig().with_file_name("targets.yml");
    let quick = "  stalled_after_seconds: 5\n  lost_after_seconds: 5\n";
    let targets = [stays.target(WORKER, ""), leaves.target("second", quick)];
    fs::write(&file, format!("targets:\n{}", targets.concat())).unwrap();
    let server = ServerOptions::new()
        .hub_ip("0.0.0.0".parse().unwrap())
        .args(["--targets", file.to_str().unwrap()])
        .args(["--keep-failed", "0"])
        .start();
    let fly = server.fly();
    let on_second = |script: &str| one_task(script).replace("[pods]", "[second]");
    fly.pipeline("here", &one_task(&here.bump("here")));
    fly.pipeline("there", &on_second(&there.bump("there")));
    here.hold("here");
    there.hold("there");
    let (goes_on, lost) = (fly.trigger("here/build"), fly.trigger("there/build"));
    here.wait("here", 1);
    there.wait("there", 1);

    let node = NodeAway::begin(&leaves.cluster, "n1");
    let api = ApiAway::begin(&leaves.cluster);
    let state = |worker| worker_field(&server, &fly, worker, "state").unwrap_or_default();
    wait_long("it is noticed", || state("second") == "stalled");
    assert_eq!(state(WORKER), "running");
    let waits = fly.trigger("there/build");
    fly.wait_for_text(waits.id, "waiting");
    here.release("here");
    fly.watch(goes_on.id).succeeded();
    fly.trigger_and_watch("here/build").succeeded();
    assert_eq!(fly.status(waits.id), "started");

    there.release("there");
    drop(api);
    drop(node);
    wait_long("it is back", || state("second") == "running");
    assert_eq!(wait_for_end(&fly, lost.id), "errored");
    let said = fly.watch(lost.id).ended_with(2).lines().join("\n");
    assert!(said.contains("not run again by itself"), "{said}");
    assert_eq!(wait_for_end(&fly, waits.id), "succeeded");
    assert_eq!((here.count("here"), there.count("there")), (2, 2));
    wait_long("no pod is left", || {
        stays.pods().is_empty() && leaves.pods().is_empty()
    });
}
