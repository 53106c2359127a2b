//! Nodes that lose their power, with agents as pods: what was theirs is looked at again when they
//! come back. Needs a cluster of two nodes: see `make test-cluster-all`.

use crate::cluster_support::outage::NodeAway;
use crate::support::installed::Installed;
use airside_scenarios::wait_until;
use serde_json::json;

/// Installs everything, with a set that is ready on both nodes.
fn offered(options: &[&str]) -> Option<Installed> {
    let all = Installed::offered(options)?;
    all.apply(&json!({"images": [{"image": all.image("1")}], "checkEvery": "5s"}));
    all.wait_until_ready();
    Some(all)
}

#[test]
fn a_node_that_is_stopped_holds_no_deletion_and_cleans_up_when_it_is_back() {
    // Agents are believed for long here: that the node is not ready must be enough.
    let Some(all) = offered(&["--deletion-deadline=600", "--agent-timeout=3600"]) else {
        return;
    };
    let stage = &all.stage;
    assert_eq!(all.labels("n2").len(), 1);
    assert!(all.names("n2").len() >= 2, "{:?}", all.names("n2"));
    let away = NodeAway::begin(&stage.cluster, "n2");
    // Another finalizer holds it too, so that it can be looked at once ours is gone.
    all.finalizers(&["images.airside.dev/on-nodes", "test.airside.dev/other"]);
    let delete = ["delete", "imageset", "app", "--wait=false", "-n"];
    stage.kubectl(&[&delete[..], &[&stage.namespace]].concat());
    wait_until("we let go", || {
        stage.set("app").unwrap()["metadata"]["finalizers"] == json!(["test.airside.dev/other"])
    });
    let left = format!("{} on n2", all.image("1"));
    let told = stage.set("app").unwrap()["status"]["leftBehind"].clone();
    assert_eq!(told, json!([left]));
    wait_until("an event tells of it", || {
        let events = stage.kubectl(&["get", "events", "-n", &stage.namespace, "-o", "json"]);
        events.contains("LeftBehind") && events.contains(&left)
    });
    all.finalizers(&[]);
    wait_until("the set is gone", || stage.set("app").is_none());
    assert!(all.labels("n1").is_empty() && all.names("n1").is_empty());
    assert_eq!(all.labels("n2").len(), 1, "nobody is there to take it away");

    drop(away);
    wait_until("the node has nothing of it any more", || {
        all.labels("n2").is_empty() && all.listed("n2").is_empty() && all.names("n2").is_empty()
    });
}

#[test]
fn a_node_that_is_restarted_has_what_it_had_and_nothing_is_pulled_again() {
    let Some(all) = offered(&["--agent-timeout=10"]) else {
        return;
    };
    let stage = &all.stage;
    let (labels, names) = (all.labels("n2"), all.names("n2"));
    assert_eq!(labels.len(), 1);
    let blobs = all.registry.count("blobs");
    let away = NodeAway::begin(&stage.cluster, "n2");
    wait_until("nobody vouches for what is on it", || {
        all.labels("n2").is_empty()
    });
    wait_until("the set is not ready", || all.ready().0 == "False");
    assert_eq!(all.labels("n1"), labels, "the other node is as it was");
    // A label without an owner, and a wrong one.
    stage.kubectl(&["label", "node", "n2", "images.airside.dev/stray=present"]);
    drop(away);
    wait_until("the label is back, and the stray one gone", || {
        all.labels("n2") == labels
    });
    all.wait_until_ready();
    assert_eq!(all.names("n2"), names, "pins and marks are as they were");
    assert_eq!(all.registry.count("blobs"), blobs, "nothing was pulled");
    let state = &all.listed("n2")[0];
    assert_eq!(
        (&state["state"], &state["pinned"]),
        (&json!("present"), &json!(true))
    );
}
