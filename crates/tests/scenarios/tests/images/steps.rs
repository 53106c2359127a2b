//! Our own steps and images on nodes: what builds will want is asked for, and pods prefer nodes
//! that have it. Needs a cluster: see `make test-cluster`.

use crate::cluster_support::{Namespace, cluster, task};
use crate::support::admission;
use crate::support::admission::{airside, kubectl, label, nodes};
use airside_scenarios::{Fly, Registry, type_layout, wait_for, wait_until};
use serde_json::Value;

/// The sets of the namespace, by name.
fn sets(namespace: &Namespace) -> Vec<Value> {
    let listed = namespace.kubectl(&["get", "imagesets", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["items"].as_array().unwrap().clone()
}

#[test]
fn images_of_next_steps_are_asked_for_while_the_first_one_runs() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    admission::apply(&airside(&["images", "install"]));
    let rights = airside(&[
        "k8s",
        "rbac",
        "--namespace",
        &namespace.name,
        "--feature",
        "images",
    ]);
    admission::apply(&rights);
    let server = namespace.server_with("  prefetch: true\n");
    let fly = server.fly();
    let later = "  - task: later\n    tags: [pods]\n    config:\n      platform: linux\n      image_resource: \
        {type: registry-image, source: {repository: registry.invalid/next, tag: \"7\"}}\n      run: {path: 'true'}\n";
    // The second step cannot run: no such registry. That it was asked for is all.
    let pipeline = format!(
        "jobs:\n- name: build\n  plan:\n{}{later}",
        task(
            "first",
            "until [ -e /tmp/go ]; do sleep 0.1; done; false",
            ""
        )
    );
    fly.pipeline("p", &pipeline);
    let build = fly.trigger("p/build");
    let set = wait_for("the image is asked for", || sets(&namespace).pop());
    assert_eq!(set["spec"]["images"][0]["image"], "registry.invalid/next:7");
    assert_eq!(set["spec"]["placement"]["mode"], "none");
    let name = set["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("airside-next-"), "{name}");
    fly.run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    wait_until("nobody wants it any more", || sets(&namespace).is_empty());
}

/// A build whose task runs in the image; where its pod is, and what it runs.
fn placed(fly: &Fly, namespace: &Namespace) -> (String, String) {
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "\nrunning");
    let listed = namespace.kubectl(&["get", "pods", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let pods = listed["items"].as_array().unwrap().iter();
    let found = pods.flat_map(|pod| {
        let containers = pod["spec"]["containers"].as_array().unwrap().iter();
        let images = containers.map(|it| it["image"].as_str().unwrap().to_owned());
        let node = pod["spec"]["nodeName"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        images.map(move |image| (node.clone(), image))
    });
    let found: Vec<_> = found
        .filter(|(_, image)| image.contains("@sha256:"))
        .collect();
    fly.run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    namespace.wait_until_no_pods();
    found.into_iter().next().expect("a pod runs in the image")
}

#[test]
fn pods_of_steps_land_on_the_node_that_has_their_image() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let host = namespace.host.to_string();
    // An image of its own: kubelets ask about one that they have pulled under any name.
    let layout = type_layout(folder.path(), &namespace.name);
    let registry = Registry::start(&layout, &["--host", &host]);
    let repository = registry.repository().replace("127.0.0.1", &host);
    cluster(&["plain-registry", &format!("{host}:{}", registry.port)]);
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline(
        "p",
        &format!(
            "jobs:\n- name: build\n  plan:\n  - task: work\n    tags: [pods]\n    config:\n      platform: linux\n      \
             image_resource: {{type: registry-image, source: {{repository: \"{repository}\", tag: \"1\", insecure: true}}}}\n      \
             run: {{path: sh, args: [-c, 'echo running; sleep 600']}}\n"
        ),
    );
    let (_, image) = placed(&fly, &namespace);
    let label = label(&image);
    // Each node in turn, several times in a row: that is no chance.
    for node in nodes() {
        kubectl(&["label", "node", &node, &format!("{label}=present")]);
        for _ in 0..3 {
            assert_eq!(placed(&fly, &namespace), (node.clone(), image.clone()));
        }
        kubectl(&["label", "node", &node, &format!("{label}-")]);
    }
}
