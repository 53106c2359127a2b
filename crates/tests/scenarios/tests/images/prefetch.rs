//! Images of a build are on nodes before its turn: with operator and agents as they are installed.
//! Needs a cluster: see `make test-cluster`.

use crate::cluster_support::{Namespace, cluster, task};
use crate::support::operator::{NAMESPACE, Registry, Stage};
use airside_scenarios::{type_layout, wait_for, wait_until};
use serde_json::Value;

/// The nodes that are labelled with content of the registry.
fn labelled(stage: &Stage, label: &str) -> Vec<String> {
    let having = format!("{label}=present");
    let listed = stage.kubectl(&["get", "nodes", "-l", &having, "-o", "name"]);
    let names = listed.lines().map(|name| name.trim_start_matches("node/"));
    names.map(str::to_owned).collect()
}

#[test]
fn the_next_steps_image_is_there_before_the_first_one_has_ended() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let layout = type_layout(folder.path(), &stage.namespace);
    let made = format!("org/next={}", layout.display());
    let registry = Registry::start(&stage, &["--made", &made]);
    cluster(&["plain-registry", registry.host()]);
    let plain = format!("--plain-registry={}", registry.host());
    let options = ["--replicas=1", "--no-admission", &plain];
    stage.install_all(&options);
    for what in [
        "deployment/airside-images-operator",
        "daemonset/airside-node",
    ] {
        stage.kubectl(&["-n", NAMESPACE, "rollout", "status", what, "--timeout=120s"]);
    }
    let namespace = Namespace::offered().unwrap();
    let rights = [
        "k8s",
        "rbac",
        "--namespace",
        &namespace.name,
        "--feature",
        "images",
    ];
    stage.apply_text(&stage.airside(&rights));

    let server = namespace.server_with("  prefetch: true\n");
    let fly = server.fly();
    let image = registry.image("org/next");
    let next = format!(
        "  - task: next\n    tags: [pods]\n    config:\n      platform: linux\n      image_resource: {{type: registry-image, \
         source: {{repository: \"{image}\", tag: \"1\", insecure: true}}}}\n      run: {{path: 'true'}}\n"
    );
    let first = task(
        "first",
        "echo waits; until [ -e /tmp/go ]; do sleep 0.1; done",
        "",
    );
    fly.pipeline(
        "p",
        &format!("jobs:\n- name: build\n  plan:\n{first}{next}"),
    );
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "\nwaits");

    let content = format!("{image}@{}", registry.digest("org/next", "1"));
    let label = airside_image_rules::label::key(&content.parse().unwrap());
    let having = wait_for("nodes have the image of the next step", || {
        let nodes = labelled(&stage, &label);
        (!nodes.is_empty()).then_some(nodes)
    });
    // And only now is it the next one's turn, while the registry serves no layers any more.
    registry.fault(&serde_json::json!({"status": 503, "only": "blobs"}));
    let waiting = namespace.pod("the first step waits", "{.status.phase}", |phase| {
        phase == "Running"
    });
    namespace.kubectl(&["exec", &waiting, "--", "touch", "/tmp/go"]);
    wait_until("the build has succeeded", || {
        fly.status(build.id) == "succeeded"
    });
    let events = namespace.kubectl(&["get", "events", "-o", "json"]);
    let events: Value = serde_json::from_str(&events).unwrap();
    let said = events["items"].as_array().unwrap().iter();
    let said: Vec<&str> = said.filter_map(|event| event["message"].as_str()).collect();
    let present = said
        .iter()
        .any(|it| it.contains(&content) && it.contains("already present"));
    assert!(present, "{having:?} had it: {said:#?}");
    wait_until("nobody wants it any more", || {
        namespace
            .kubectl(&["get", "imagesets", "-o", "name"])
            .trim()
            .is_empty()
    });
    // Agents would take labels away that other tests write.
    drop(server);
    stage.uninstall(&options);
}
