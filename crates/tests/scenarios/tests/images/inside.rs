//! Images inside of a cluster before any pod needs them, under other names, and from registries
//! with certificates of an own authority. Needs a cluster: see `make test-cluster`.

use crate::support::mirror::{MirrorHouse, host};
use airside_scenarios::{TlsFront, wait_until};
use serde_json::json;

/// JSON path of a pod's image.
const IMAGE: &str = "{.spec.containers[0].image}";

/// Waits until the set's images are on all of its nodes.
fn ready(house: &MirrorHouse, set: &str) {
    let (set, condition) = (format!("imageset/{set}"), "--for=condition=Ready");
    house.kubectl(&["wait", condition, &set, "--timeout=120s"]);
}

#[test]
fn what_a_set_wants_is_in_the_mirror_before_any_node_asks() {
    let Some(mut house) = MirrorHouse::offered() else {
        return;
    };
    let plain = format!("--plain-registry={}", house.host());
    let mirrored = format!(
        "--mirror-registry={}={}",
        house.host(),
        house.registry.url()
    );
    house.install(&["--replicas=1", &plain, &mirrored]);
    house.rolled_out("deployment/airside-images-operator");
    // One name, for this machine's nodes, for a platform that no node has, and for one that no set
    // wants.
    let (own, other) = (
        house.push("org/app", 500_000),
        house.push("org/app", 500_000),
    );
    let unwanted = house.push("org/app", 500_000);
    let platforms = [
        ("linux/amd64", &own),
        ("linux/arm64", &other),
        ("linux/s390x", &unwanted),
    ];
    house.registry.push_index("org/app", "1", &platforms);
    let image = format!("{}/org/app:1", house.host());
    let spec = |nodes: &str| {
        json!({
            "images": [{"image": image}], "checkEvery": "never", "platforms": ["linux/amd64", "linux/arm64"],
            "nodes": {"matchExpressions": [{"key": "airside.dev/of-nobody", "operator": nodes}]},
        })
    };
    house.stage.apply_set("app", &spec("Exists"));
    let blob = |digest: &String| format!("GET /v2/org/app/blobs/{digest}");
    let read = |digest: &String| house.registry.count(&blob(digest));
    for image in [&own, &other] {
        for digest in image.layers.iter().chain([&image.config]) {
            wait_until("it is copied", || read(digest) > 0);
        }
    }
    let log = || house.log("deployment/airside-images-mirror");
    wait_until("all of it is kept", || log().contains("copied ahead"));
    assert_eq!(read(&unwanted.layers[1]), 0, "nobody wants that one");
    let read_ahead = house.registry.bytes();

    house.stage.apply_set("app", &spec("DoesNotExist"));
    ready(&house, "app");
    let nodes = house.nodes();
    for node in &nodes {
        house.pod(&format!("on-{node}"), "org/app:1", node, None);
    }
    for node in &nodes {
        house.runs(&format!("on-{node}"));
    }
    assert_eq!(
        house.registry.bytes(),
        read_ahead,
        "nothing is read twice: {:#?}",
        house.registry.requests()
    );
    house.kubectl(&["delete", "imageset", "app", "--timeout=60s"]);
    house.end();
}

#[test]
fn names_are_moved_to_the_nodes_own_port_where_runtimes_know_no_mirrors() {
    let Some(mut house) = MirrorHouse::offered() else {
        return;
    };
    // A name that nothing resolves: a pod that gets this image has it from inside.
    let moved = format!("--mirror-registry=r.example={}", house.registry.url());
    let with_port = format!(
        "--mirror-registry={}={}",
        house.host(),
        house.registry.url()
    );
    house.install(&[
        "--replicas=0",
        &moved,
        &with_port,
        "--rewrite-to=localhost:5001",
        "--",
        "--no-mirror-files",
    ]);
    for host in ["r.example", &house.host()] {
        assert!(
            !house.has_files(host),
            "containerd is told nothing of {host}"
        );
    }
    let image = house.push("org/app", 500_000);
    let nodes = house.nodes();
    let port = house.host().replace(':', "__");
    for (pod, name, inside) in [
        (
            "by-name",
            "r.example/org/app:1".to_owned(),
            "r.example".to_owned(),
        ),
        ("by-port", format!("{}/org/app:1", house.host()), port),
    ] {
        let inside = format!("localhost:5001/{inside}/org/app:1");
        let object = house.pod_object(pod, &name, &nodes[0], None);
        house.stage.create_admitted(&object, IMAGE, &inside);
        house.runs(pod);
    }
    // On another node too, from what is in the cluster already.
    let elsewhere = nodes.last().unwrap();
    let object = house.pod_object("elsewhere", "r.example/org/app:1", elsewhere, None);
    let inside = "localhost:5001/r.example/org/app:1";
    house.stage.create_admitted(&object, IMAGE, inside);
    house.runs("elsewhere");
    let blob = format!("GET /v2/org/app/blobs/{}", image.layers[1]);
    assert_eq!(house.registry.count(&blob), 1, "one read for all of them");
    house.end();
}

#[test]
fn a_registry_of_the_users_own_authority_is_trusted_by_all_that_ask_it() {
    let Some(mut house) = MirrorHouse::offered() else {
        return;
    };
    let front = TlsFront::before(&house.host(), host(&house.stage));
    let registry = front.address.clone();
    let authority = format!("--ca-file={}", front.authority.display());
    let mirrored = format!("--mirror-registry={registry}");
    house.install(&["--replicas=1", &authority, &mirrored]);
    house.rolled_out("deployment/airside-images-operator");
    let image = house.push("org/app", 500_000);

    // The operator asks what the tag means, the mirror copies, containerd resolves and pulls.
    let name = format!("{registry}/org/app:1");
    house
        .stage
        .apply_set("app", &json!({"images": [{"image": name}]}));
    ready(&house, "app");
    let blob = format!("GET /v2/org/app/blobs/{}", image.layers[1]);
    let asked = house.registry.requests();
    assert_eq!(house.registry.count(&blob), 1, "{asked:#?}");

    // Without the mirror containerd goes to the registry itself.
    house.inside(&[
        "scale",
        "deployment",
        "airside-images-mirror",
        "--replicas=0",
    ]);
    wait_until("the mirror is gone", || {
        let label = "app.kubernetes.io/name=airside-images-mirror";
        house
            .inside(&["get", "pods", "-l", label, "-o", "name"])
            .is_empty()
    });
    house.push("org/straight", 500_000);
    let straight = format!("{registry}/org/straight:1");
    house.pod_of("straight", &straight, &house.nodes()[0], None);
    house.runs("straight");

    // What was written beside the registry's file goes with it.
    assert!(house.has_files(&registry));
    house.kubectl(&["delete", "imageset", "app", "--timeout=60s"]);
    let folders = house.registries();
    house.end();
    for folder in folders {
        assert!(!folder.join(&registry).exists(), "{folder:?}");
    }
}
