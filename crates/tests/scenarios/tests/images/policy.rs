//! Placement of pods that use images kept on nodes, by the API server itself: the policy of
//! `airside images install --placement policy`, and no webhook. Needs a cluster: see `make
//! test-cluster`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::admission::{
    BUSYBOX, HOME, Team, airside, apply, create, dry_run, get, kubectl, nodes, prefers, requires,
    sleeper, try_kubectl, untouched,
};
use airside_scenarios::wait_until;
use serde_json::{Value, json};

static ALONE: Mutex<()> = Mutex::new(());

/// The policy while this is held, and no webhook of ours.
struct Policy {
    _alone: MutexGuard<'static, ()>,
}

const PARTS: [&str; 3] = [
    "mutatingadmissionpolicybinding/airside-images-placement",
    "mutatingadmissionpolicybinding/airside-images-placement-shared",
    "mutatingadmissionpolicy/airside-images-placement",
];

impl Policy {
    fn offered() -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = "airside-images-admission";
        kubectl(&[
            "delete",
            "mutatingwebhookconfiguration",
            ours,
            "--ignore-not-found",
        ]);
        // Neither operator nor agents: sets and labels are written by the tests.
        kubectl(&[
            "-n",
            HOME,
            "delete",
            "daemonset",
            "airside-node",
            "--ignore-not-found",
        ]);
        let all = airside(&["images", "install", "--placement", "policy", "--replicas=0"]);
        let parts = all
            .split("---\n")
            .filter(|part| !part.contains("kind: DaemonSet"));
        apply(&parts.collect::<Vec<_>>().join("---\n"));
        assert!(!all.contains("MutatingWebhookConfiguration"), "{all}");
        Some(Self { _alone: alone })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        for part in PARTS {
            let _ = try_kubectl(&["delete", part, "--ignore-not-found"]);
        }
    }
}

fn runs(team: &Team, pod: &str) -> bool {
    get(Some(&team.name), "pod", pod)["status"]["phase"] == "Running"
}

fn policies(pod: &Value) -> Vec<(String, String)> {
    let containers = pod["spec"]["containers"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = containers.map(|it| (text(&it["image"]), text(&it["imagePullPolicy"])));
    shown.collect()
}

#[test]
fn pods_prefer_nodes_and_pull_only_what_is_absent() {
    let Some(_policy) = Policy::offered() else {
        return;
    };
    let team = Team::new();
    let (label, volume) = (
        team.set(BUSYBOX, &json!({"mode": "prefer"})),
        team.set("example.com/tools:1", &json!({"mode": "gate"})),
    );
    let zone = json!({"weight": 7, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}});
    let mut spec = sleeper(BUSYBOX);
    spec["initContainers"] =
        json!([{"name": "first", "image": BUSYBOX, "imagePullPolicy": "Always"}]);
    spec["volumes"] = json!([{"name": "tools", "image": {"reference": "example.com/tools:1", "pullPolicy": "Always"}}]);
    spec["affinity"] =
        json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [zone]}});
    let made = team.tried(&spec, "both images are preferred", |pod| {
        prefers(pod, &label) && prefers(pod, &volume)
    });
    for path in [
        "/spec/containers/0/imagePullPolicy",
        "/spec/initContainers/0/imagePullPolicy",
        "/spec/volumes/0/image/pullPolicy",
    ] {
        assert_eq!(made.pointer(path), Some(&json!("IfNotPresent")), "{path}");
    }
    assert!(
        made["spec"]["schedulingGates"].is_null(),
        "there is nobody to open a gate"
    );
    let terms = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    let terms = made.pointer(terms).unwrap().as_array().unwrap();
    assert!(terms.len() == 3 && terms[0] == zone, "{terms:?}");
    // What comes out is left as it is when it goes in again.
    let again = dry_run(&team.pod("again", &made["spec"]));
    assert_eq!(again["spec"]["affinity"], made["spec"]["affinity"]);
    assert_eq!(again["spec"]["volumes"], made["spec"]["volumes"]);
}

#[test]
fn names_are_read_as_container_runtimes_read_them() {
    let Some(_policy) = Policy::offered() else {
        return;
    };
    let team = Team::new();
    let mode = json!({"mode": "prefer"});
    let label = team.set("docker.io/library/app:latest", &mode);
    let set = |image: &str| team.set(image, &mode);
    set("docker.io/org/app:1");
    set("localhost/app:1");
    set("example.com:5000/a/b/app:1");
    let digest = format!("sha256:{}", "a".repeat(64));
    let ours = [
        "app",
        "app:latest",
        "library/app",
        "docker.io/app",
        "docker.io/library/app:latest",
        "index.docker.io/app",
        "index.docker.io/library/app",
        "org/app:1",
        "docker.io/org/app:1",
        "localhost/app:1",
        "example.com:5000/a/b/app:1",
    ];
    let others = [
        "app:2".to_owned(),
        "org/app".to_owned(),
        "other/app:latest".to_owned(),
        "example.com/app:latest".to_owned(),
        "example.com:5000/a/b/app".to_owned(),
        format!("app@{digest}"),
        format!("app:latest@{digest}"),
    ];
    let all = ours.iter().map(|&it| it.to_owned()).chain(others);
    let containers: Vec<Value> = all
        .enumerate()
        .map(|(at, image)| json!({"name": format!("c{at}"), "image": image, "imagePullPolicy": "Always"}))
        .collect();
    let taken = |pod: &Value| {
        let policies = policies(pod).into_iter();
        let taken = policies.filter(|(_, policy)| policy == "IfNotPresent");
        taken.map(|(image, _)| image).collect::<Vec<_>>()
    };
    let spec = json!({"containers": containers});
    team.tried(&spec, "each of them, and no other", |pod| {
        taken(pod) == ours
    });
    // By their content as well.
    let sets = kubectl(&["-n", &team.name, "get", "imagesets", "-o", "json"]);
    let sets: Value = serde_json::from_str(&sets).unwrap();
    let labels = sets["items"].as_array().unwrap().iter();
    let labels = labels.flat_map(|set| set["status"]["labels"].as_object().unwrap());
    let content = labels.filter(|(name, it)| name.contains('@') && **it == label);
    let content = content.map(|(name, _)| name.clone()).next().unwrap();
    let tagged = content.replace("docker.io/library/app@", "app:old@");
    for image in [content, tagged] {
        team.tried(&sleeper(&image), "the content is preferred", |pod| {
            prefers(pod, &label)
        });
    }
}

#[test]
fn nodes_are_required_and_digests_pinned_where_sets_say_so() {
    let Some(_policy) = Policy::offered() else {
        return;
    };
    let team = Team::new();
    let pinned = team.set(
        "example.com/pinned:1",
        &json!({"mode": "require", "pinDigest": true}),
    );
    team.set("example.com/none:1", &json!({"mode": "none"}));
    let mut spec = sleeper("example.com/pinned:1");
    spec["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
    let made = team.tried(&spec, "the node is selected", |pod| requires(pod, &pinned));
    assert_eq!(made["spec"]["nodeSelector"]["kubernetes.io/os"], "linux");
    let image = made["spec"]["containers"][0]["image"].as_str().unwrap();
    assert!(image.starts_with("example.com/pinned:1@sha256:"), "{image}");
    let again = dry_run(&team.pod("again", &made["spec"]));
    assert_eq!(again["spec"]["containers"], made["spec"]["containers"]);
    assert_eq!(again["spec"]["nodeSelector"], made["spec"]["nodeSelector"]);
    let none = dry_run(&team.pod("none", &sleeper("example.com/none:1")));
    assert_eq!(policies(&none)[0].1, "Always");
    assert!(none["spec"]["affinity"].is_null(), "{none}");
}

#[test]
fn what_is_not_ours_to_place_is_left_alone() {
    let Some(_policy) = Policy::offered() else {
        return;
    };
    let team = Team::new();
    let image = format!("example.com/{}:1", team.name);
    // Sets of the installation's namespace speak for all.
    let label = Team::set_in(HOME, &image, &json!({"mode": "require"}));
    team.tried(&sleeper(&image), "the node is selected", |pod| {
        requires(pod, &label)
    });
    let pod = |change: fn(&mut Value)| {
        let mut pod = team.pod("alone", &sleeper(&image));
        change(&mut pod);
        dry_run(&pod)
    };
    for (what, made) in [
        (
            "the cluster's",
            pod(|it| it["metadata"]["namespace"] = json!("kube-system")),
        ),
        (
            "our own",
            pod(|it| it["metadata"]["namespace"] = json!(HOME)),
        ),
        (
            "a DaemonSet's",
            pod(|it| {
                it["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "uid": "x"}])
            }),
        ),
        (
            "a mirror",
            pod(|it| {
                it["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
                it["spec"]["nodeName"] = json!("n1");
            }),
        ),
        (
            "one that has its node",
            pod(|it| it["spec"]["nodeName"] = json!("n1")),
        ),
        (
            "one that opted out",
            pod(|it| it["metadata"]["labels"] = json!({"images.airside.dev/place": "false"})),
        ),
    ] {
        assert!(!requires(&made, &label), "{what}: {made}");
        assert_eq!(policies(&made)[0].1, "Always", "{what}");
    }
    let sets = kubectl(&["-n", HOME, "get", "imagesets", "-o", "name"]);
    for set in sets.lines() {
        kubectl(&["-n", HOME, "delete", set]);
    }
    team.tried(&sleeper(&image), "nobody speaks for it", |pod| {
        !requires(pod, &label)
    });
}

#[test]
fn pods_land_on_the_node_that_has_the_image() {
    let Some(_policy) = Policy::offered() else {
        return;
    };
    let team = Team::new();
    let label = team.set(BUSYBOX, &json!({"mode": "prefer"}));
    team.tried(&sleeper(BUSYBOX), "it is preferred", |pod| {
        prefers(pod, &label)
    });
    let hooks = kubectl(&["get", "mutatingwebhookconfigurations", "-o", "name"]);
    assert!(!hooks.contains("airside"), "{hooks}");
    // Each node in turn, so that it is no chance.
    for node in nodes() {
        kubectl(&["label", "node", &node, &format!("{label}=present")]);
        // Runs once the scheduler knows of the label.
        let mut first = untouched(BUSYBOX);
        first["nodeSelector"] = json!({label.as_str(): "present"});
        create(&team.pod(&format!("{node}-first"), &first));
        wait_until("it runs", || runs(&team, &format!("{node}-first")));
        let names: Vec<String> = (0..3).map(|at| format!("{node}-{at}")).collect();
        for name in &names {
            create(&team.pod(name, &sleeper(BUSYBOX)));
        }
        for name in &names {
            wait_until("it runs", || runs(&team, name));
            let pod = get(Some(&team.name), "pod", name);
            assert_eq!(pod["spec"]["nodeName"], node.as_str(), "{pod}");
        }
        kubectl(&["label", "node", &node, &format!("{label}-")]);
    }
    // A container that is added later uses what is there, and moves no pod.
    let name = format!("{}-0", nodes()[0]);
    let debug = [
        "debug",
        &name,
        "--image",
        BUSYBOX,
        "--image-pull-policy=Always",
        "-q",
        "--",
        "true",
    ];
    kubectl(&[&["-n", &team.name][..], &debug].concat());
    let pod = get(Some(&team.name), "pod", &name);
    assert_eq!(
        pod.pointer("/spec/ephemeralContainers/0/imagePullPolicy"),
        Some(&json!("IfNotPresent"))
    );
    // Others start as ever.
    create(&team.pod("stranger", &untouched("airside.local/busybox:dev")));
    wait_until("it runs", || runs(&team, "stranger"));
}
