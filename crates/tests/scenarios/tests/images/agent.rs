//! Images that sets want, kept on a node by its agent; what is there is looked up in containerd,
//! and what is told in the API server. Needs a cluster: see `make test-cluster-all`.

use crate::support::agent;
use crate::support::agent::{NODE_NAME, Stage};
use airside_scenarios::wait_until;
use serde_json::json;

#[test]
fn an_image_is_pulled_pinned_labelled_and_told_in_two_writes() {
    let Some(stage) = Stage::with_agent(&["--heartbeat=3600"]) else {
        return;
    };
    wait_until("the agent told something", || {
        stage.status()["heartbeat"].is_string()
    });
    let before = stage.writes().len();
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_labels(1, "=present");
    let told = stage.wait_for_state(&image, "present");
    assert_eq!(told["pinned"], true, "{told}");
    let writes = stage.writes().split_off(before);
    assert!(writes.len() <= 2, "{writes:#?}");
    let marks = stage.marks(&image);
    assert!(marks.contains("io.cri-containerd.pinned=pinned"), "{marks}");
    assert!(marks.contains("images.airside.dev/pulled="), "{marks}");
    wait_until("pins are seen to show", || {
        let status = stage.status();
        let mut conditions = status["conditions"].as_array().unwrap().iter();
        conditions.any(|it| it["type"] == "PinVisible" && it["status"] == "True")
    });
    assert_eq!(stage.shelf.fetched(&image.layer), 1);

    stage.delete_set("one");
    stage.wait_until_gone(&image);
    stage.wait_for_labels(0, "");
    wait_until("nothing is told", || stage.status()["images"].is_null());
}

#[test]
fn a_tag_that_moves_brings_the_new_content_and_takes_the_old() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let (old, new) = (stage.shelf.image("app:1", 1), stage.shelf.image("app:1", 1));
    stage.set("one", &[&old], json!({}));
    stage.wait_for_state(&old, "present");
    let label = stage.labels();
    stage.resolve("one", &[&new]);
    stage.wait_for_state(&new, "present");
    stage.wait_until_gone(&old);
    stage.wait_for_labels(1, "=present");
    assert_ne!(stage.labels(), label);
    let tag = stage
        .names()
        .into_iter()
        .find(|line| line.starts_with(&new.name));
    assert!(
        tag.unwrap().contains(&new.digest),
        "the tag means the new content"
    );
}

#[test]
fn an_image_that_is_there_is_adopted_and_stays() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    let content = stage.pull_by_hand(&image);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_state(&image, "present");
    stage.wait_for_labels(1, "=present");
    assert_eq!(stage.shelf.fetched(&image.layer), 1, "not pulled again");
    stage.delete_set("one");
    stage.wait_for_labels(0, "");
    wait_until("only the pin and the name go", || {
        !stage.marks(&image).contains("pinned=pinned")
            && !stage
                .names()
                .iter()
                .any(|name| name.starts_with(&image.name))
    });
    assert!(stage.names().iter().any(|name| name.starts_with(&content)));
}

#[test]
fn two_sets_want_one_image() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.set("two", &[&image], json!({"pinned": false}));
    stage.wait_for_state(&image, "present");
    assert_eq!(stage.status()["wanted"], 1);
    stage.delete_set("one");
    wait_until("the other set has it unpinned", || {
        stage.told(&image)["pinned"] == false
    });
    assert_eq!(stage.told(&image)["state"], "present");
    assert_eq!(stage.shelf.fetched(&image.layer), 1);
    stage.delete_set("two");
    stage.wait_until_gone(&image);
}

#[test]
fn a_label_that_is_taken_away_comes_back() {
    let Some(stage) = Stage::with_agent(&["--heartbeat=3600"]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_labels(1, "=present");
    let label = stage.labels().remove(0).replace("=present", "");
    stage.kubectl(&["label", "node", NODE_NAME, &format!("{label}-")]);
    stage.wait_for_labels(1, "=present");
    // A label that no agent put there is removed.
    stage.kubectl(&[
        "label",
        "node",
        NODE_NAME,
        "images.airside.dev/stray=present",
    ]);
    wait_until("the stray label is gone", || stage.labels().len() == 1);
}

/// The image of the agent: Airside's own unless another one is named.
fn image_of_agent() -> String {
    std::env::var("AIRSIDE_NODE_IMAGE").unwrap_or_else(|_| "airside.local/airside:dev".to_owned())
}

#[test]
fn the_daemon_set_keeps_images_with_few_rights_and_leaves_nothing() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let namespace = stage.namespace().to_owned();
    let manifest = |more: &[&str]| {
        let image = image_of_agent();
        let print = ["images", "node-agent", "--no-operator", "--image", &image];
        agent::airside(&[&print[..], &["--namespace", &namespace], more].concat())
    };
    let marks = ["--", "--high-mark=100", "--low-mark=99"];
    stage.apply("agent.yml", &manifest(&marks));
    let rolled_out = [
        "rollout",
        "status",
        "daemonset/airside-node",
        "--timeout=120s",
    ];
    stage.kubectl_own(&rolled_out);
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_state(&image, "present");
    stage.wait_for_labels(1, "=present");
    let account = format!("--as=system:serviceaccount:{namespace}:airside-node");
    for (verb, what) in [
        ("get", "secrets"),
        ("patch", "imagesets"),
        ("delete", "nodes"),
        ("list", "pods"),
    ] {
        let asked = ["kubectl", "auth", "can-i", verb, what, &account];
        let may = stage.cluster.try_ask(&asked).unwrap_or_default();
        assert_ne!(may.trim(), "yes", "{verb} {what}");
    }
    stage.apply("clean.yml", &manifest(&["--clean"]));
    stage.kubectl_own(&rolled_out);
    assert!(stage.labels().is_empty() && stage.status().is_null());
    assert!(!stage.has(&image));
    stage.kubectl_own(&["delete", "daemonset", "airside-node"]);
    stage.kubectl(&["delete", "clusterrole,clusterrolebinding", "airside-node"]);
}
