//! Nodes that are new, with agents as pods; and how many pull at once. Needs a cluster of two
//! nodes: see `make test-cluster-all`.

use crate::cluster_support::Cluster;
use crate::support::installed::Installed;
use crate::support::operator::{NAMESPACE, Stage};
use crate::support::shelf::Shelf;
use airside_scenarios::wait_until;
use serde_json::{Value, json};

/// A node that the cluster has as long as this lives.
struct NewNode {
    name: String,
    cluster: Cluster,
}

impl NewNode {
    fn join() -> Self {
        let cluster = Cluster::default();
        Self {
            name: cluster.ask(&["node-add"]).trim().to_owned(),
            cluster,
        }
    }
}

impl Drop for NewNode {
    fn drop(&mut self) {
        let number = self.name.trim_start_matches('n');
        let _ = self.cluster.try_ask(&["node-remove", number]);
    }
}

#[test]
fn a_node_that_joins_gets_its_images_at_once_and_is_forgotten_when_it_is_gone() {
    let Some(all) = Installed::offered(&[]) else {
        return;
    };
    let (stage, image) = (&all.stage, all.image("1"));
    all.apply(&json!({"images": [{"image": image}], "checkEvery": "never"}));
    all.wait_until_ready();
    let asked = all.registry.count("heads");
    let new = NewNode::join();
    let shown = || -> Value {
        let shown = stage.airside(&["images", "status", "-o", "json"]);
        serde_json::from_str(&shown).unwrap()
    };
    wait_until("the new node has it", || {
        all.labels(&new.name).len() == 1
            && shown()["sets"][0]["images"][0]["nodes"][&new.name]["state"] == "present"
    });
    all.wait_until_ready();
    assert_eq!(
        all.labels(&new.name),
        all.labels("n1"),
        "by the same label as the others"
    );
    // The new node's containerd looks once before it pulls; what the tag means was known.
    assert_eq!(all.registry.count("heads"), asked + 1);
    let name = new.name.clone();
    drop(new);
    wait_until("nothing is said of it any more", || {
        stage.get(&["nodeimages", &name]).is_none()
            && shown()["sets"][0]["images"][0]["nodes"][&name].is_null()
    });
    all.wait_until_ready();
}

#[test]
fn one_of_all_nodes_pulls_at_a_time_where_no_more_may() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let shelf = Shelf::open(stage.host.parse().unwrap());
    stage.cluster.ask(&["plain-registry", &shelf.host()]);
    let plain = format!("--plain-registry={}", shelf.host());
    let options = ["--pulls-at-once=1", "--no-admission", &plain];
    // Agents that begin before there is the operator's authority do not ask it, and pull.
    stage.install(&options);
    wait_until("agents can know the operator", || {
        let authority = ["configmap", "airside-images-ca", "-n", NAMESPACE];
        stage.get(&authority).is_some()
    });
    stage.install_all(&options);
    let rolled_out = ["rollout", "status", "--timeout=120s", "-n", NAMESPACE];
    for what in [
        "deployment/airside-images-operator",
        "daemonset/airside-node",
    ] {
        stage.kubectl(&[&rolled_out[..], &[what]].concat());
    }
    let image = shelf.image("app:1", 2);
    let name = format!("{}/app@{}", shelf.host(), image.digest);
    shelf.hold(true);
    stage.apply_set("app", &json!({"images": [{"image": name}]}));
    let told = || {
        ["n1", "n2"].map(|node| {
            let said = stage.get(&["nodeimages", node]).unwrap_or_default();
            said["status"]["images"][0].clone()
        })
    };
    wait_until("one node pulls, the other is told to wait", || {
        let told = told();
        let states = told
            .each_ref()
            .map(|image| image["state"].as_str().unwrap_or(""));
        let waits = |image: &Value| image["message"] == "others of the cluster go first";
        states.contains(&"pulling") && states.contains(&"pending") && told.iter().any(waits)
    });
    wait_until("the layer is asked for", || shelf.waiting() > 0);
    assert_eq!(shelf.waiting(), 1, "{:?}", told());
    shelf.hold(false);
    let ready = [
        "wait",
        "--for=condition=Ready",
        "imageset/app",
        "--timeout=120s",
    ];
    stage.kubectl(&[&ready[..], &["-n", &stage.namespace]].concat());
    assert_eq!(
        shelf.fetched(&image.layer),
        2,
        "each node has it from the registry"
    );
    stage.kubectl(&[
        "delete",
        "imageset",
        "app",
        "--timeout=60s",
        "-n",
        &stage.namespace,
    ]);
    stage.uninstall(&options);
}
