//! Placement of pods that use images kept on nodes, by the webhook as it is installed. Needs a
//! cluster: see `make test-cluster`.

use crate::support::admission;
use crate::support::admission::{
    BUSYBOX, DEPLOYMENT, HOME, OURS, Team, create, get, kubectl, node, offered, offered_alone,
    prefers, sleeper, stop_all, try_apply_as, untouched, wait_until_it_answers,
};
use airside_scenarios::wait_until;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

fn phase(team: &Team, pod: &str) -> String {
    let phase = get(Some(&team.name), "pod", pod)["status"]["phase"].clone();
    phase.as_str().unwrap_or_default().to_owned()
}

#[test]
fn pods_prefer_nodes_and_pull_only_what_is_absent() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let (label, volume) = (
        team.set(BUSYBOX, &json!({"mode": "prefer"})),
        team.set("example.com/tools:1", &json!({"mode": "prefer"})),
    );
    let mut spec = sleeper(BUSYBOX);
    spec["initContainers"] =
        json!([{"name": "first", "image": BUSYBOX, "imagePullPolicy": "Always"}]);
    spec["volumes"] = json!([{"name": "tools", "image": {"reference": "example.com/tools:1", "pullPolicy": "Always"}}]);
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
    // It runs, too, and a container that is added later uses what is there.
    create(&team.pod("runs", &sleeper(BUSYBOX)));
    wait_until("it runs", || phase(&team, "runs") == "Running");
    let debug = [
        "-n",
        &team.name,
        "debug",
        "runs",
        "--image",
        BUSYBOX,
        "--image-pull-policy=Always",
        "-q",
        "--",
        "true",
    ];
    kubectl(&debug);
    let pod = get(Some(&team.name), "pod", "runs");
    assert_eq!(
        pod.pointer("/spec/ephemeralContainers/0/imagePullPolicy"),
        Some(&json!("IfNotPresent"))
    );
}

#[test]
fn a_required_image_keeps_a_pod_waiting_until_a_node_has_it() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let placement = json!({"mode": "require"});
    let label = team.set(BUSYBOX, &placement);
    let selected = |pod: &Value| pod["spec"]["nodeSelector"][&label] == "present";
    team.tried(&sleeper(BUSYBOX), "the node is selected", selected);
    create(&team.pod("picky", &sleeper(BUSYBOX)));
    wait_until("nothing fits", || {
        let conditions = get(Some(&team.name), "pod", "picky")["status"]["conditions"].clone();
        conditions.to_string().contains("Unschedulable")
    });
    let node = node();
    kubectl(&["label", "node", &node, &format!("{label}=error")]);
    kubectl(&[
        "label",
        "node",
        &node,
        "--overwrite",
        &format!("{label}=present"),
    ]);
    wait_until("it runs", || phase(&team, "picky") == "Running");
    kubectl(&["label", "node", &node, &format!("{label}-")]);
}

#[test]
fn a_gate_opens_when_a_node_has_the_image() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let label = team.set(BUSYBOX, &json!({"mode": "gate", "gateSeconds": 3600}));
    let gated = |pod: &Value| !pod["spec"]["schedulingGates"].is_null();
    team.tried(&sleeper(BUSYBOX), "there is a gate", gated);
    let made = create(&team.pod("waits", &sleeper(BUSYBOX)));
    assert!(gated(&made), "{made}");
    let node = node();
    kubectl(&["label", "node", &node, &format!("{label}=present")]);
    wait_until("it runs", || phase(&team, "waits") == "Running");
    wait_until("the pod says why", || {
        team.was_told("Pod", "waits", "Released")
    });
    let pod = get(Some(&team.name), "pod", "waits");
    assert!(pod["metadata"]["labels"]["images.airside.dev/gated"].is_null());
    // Who comes now does not wait.
    team.tried(&sleeper(BUSYBOX), "there is no gate", |pod| !gated(pod));
    kubectl(&["label", "node", &node, &format!("{label}-")]);
}

#[test]
fn a_gate_opens_at_its_deadline_also_after_a_restart() {
    let Some(_here) = offered_alone() else { return };
    let team = Team::new();
    team.set(BUSYBOX, &json!({"mode": "gate", "gateSeconds": 15}));
    let gated = |pod: &Value| !pod["spec"]["schedulingGates"].is_null();
    team.tried(&sleeper(BUSYBOX), "there is a gate", gated);
    create(&team.pod("late", &sleeper(BUSYBOX)));
    // All replicas at once: only the cluster remembers the pod.
    kubectl(&["-n", HOME, "delete", "pods", "-l", OURS, "--wait=false"]);
    wait_until("it runs", || phase(&team, "late") == "Running");
    wait_until("the pod says why", || {
        team.was_told("Pod", "late", "Released")
    });
    wait_until_it_answers();
}

#[test]
fn the_digest_is_pinned_and_other_modes_leave_pods_alone() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    team.set("example.com/none:1", &json!({"mode": "none"}));
    team.set(
        "example.com/pinned:1",
        &json!({"mode": "prefer", "pinDigest": true}),
    );
    let made = team.tried(&sleeper("example.com/pinned:1"), "it is pinned", |pod| {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap();
        image.starts_with("example.com/pinned:1@sha256:")
    });
    // What comes out is left as it is when it goes in again.
    let again = team.tried(&made["spec"], "it is answered", |_| true);
    assert_eq!(again["spec"]["affinity"], made["spec"]["affinity"]);
    assert_eq!(again["spec"]["containers"], made["spec"]["containers"]);
    let none = team.tried(&sleeper("example.com/none:1"), "it is answered", |_| true);
    assert!(none["spec"]["affinity"].is_null(), "{none}");
    assert_eq!(none["spec"]["containers"][0]["imagePullPolicy"], "Always");
}

#[test]
fn pods_of_daemon_sets_of_ours_and_of_who_opted_out_are_left_alone() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let label = team.set(BUSYBOX, &json!({"mode": "require"}));
    let selected = |pod: &Value| pod["spec"]["nodeSelector"][&label] == "present";
    team.tried(&sleeper(BUSYBOX), "the node is selected", selected);
    let mut out = team.pod("out", &sleeper(BUSYBOX));
    out["metadata"]["labels"] = json!({"images.airside.dev/place": "false"});
    assert!(!selected(&create(&out)));
    let everywhere = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "all", "namespace": team.name},
        "spec": {"selector": {"matchLabels": {"app": "all"}}, "template": {"metadata": {"labels": {"app": "all"}}, "spec": untouched(BUSYBOX)}}});
    create(&everywhere);
    wait_until("the daemon set runs", || {
        let status = get(Some(&team.name), "daemonset", "all")["status"].clone();
        status["numberReady"] == status["desiredNumberScheduled"]
            && status["numberReady"].as_u64() > Some(0)
    });
}

#[test]
fn templates_are_placed_where_they_opted_in() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let deployment = |name: &str, labels: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": team.name, "labels": labels},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": sleeper(BUSYBOX)}}})
    };
    let opted_in = json!({"images.airside.dev/place": "true"});
    create(&deployment("before", opted_in.clone()));
    create(&deployment("stranger", json!({})));
    let label = team.set(BUSYBOX, &json!({"mode": "prefer"}));
    let is_placed = |name: &str| {
        prefers(
            &get(Some(&team.name), "deployment", name)["spec"]["template"],
            &label,
        )
    };
    wait_until("one that was there is placed", || is_placed("before"));
    wait_until("the other is told of", || {
        team.was_told("Deployment", "stranger", "NotPlaced")
    });
    assert!(!is_placed("stranger"));
    let made = create(&deployment("after", opted_in));
    assert!(prefers(&made["spec"]["template"], &label), "{made}");
    // Scaling changes no template.
    let before = get(Some(&team.name), "deployment", "after");
    kubectl(&[
        "-n",
        &team.name,
        "scale",
        "deployment",
        "after",
        "--replicas=0",
    ]);
    let after = get(Some(&team.name), "deployment", "after");
    assert_eq!(before["spec"]["template"], after["spec"]["template"]);
    // And all of a namespace.
    kubectl(&[
        "label",
        "namespace",
        &team.name,
        "images.airside.dev/place=true",
    ]);
    wait_until("all of it", || is_placed("stranger"));
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "namespace": team.name},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": sleeper(BUSYBOX)["containers"]}}}});
    let made = create(&job);
    assert!(prefers(&made["spec"]["template"], &label), "{made}");
    // Its template is left as it is from then on: an update goes through.
    kubectl(&["-n", &team.name, "annotate", "job", "job", "a=b"]);
}

#[test]
fn pods_start_all_the_same_while_nobody_answers() {
    let Some(_here) = offered_alone() else { return };
    let team = Team::new();
    let label = team.set(BUSYBOX, &json!({"mode": "require"}));
    let selected = |pod: &Value| pod["spec"]["nodeSelector"][&label] == "present";
    team.tried(&sleeper(BUSYBOX), "the node is selected", selected);
    stop_all();
    let made = create(&team.pod("alone", &untouched(BUSYBOX)));
    kubectl(&["-n", HOME, "scale", DEPLOYMENT, "--replicas=2"]);
    assert!(!selected(&made), "{made}");
    wait_until("it runs", || phase(&team, "alone") == "Running");
    wait_until_it_answers();
}

#[test]
fn the_api_server_is_told_again_whom_to_trust() {
    let Some(_here) = offered() else { return };
    let told = || {
        let hook = get(
            None,
            "mutatingwebhookconfiguration",
            "airside-images-admission",
        );
        hook.pointer("/webhooks/1/clientConfig/caBundle").cloned()
    };
    let before = told();
    // The webhook for containers that are added later: no other test needs it meanwhile.
    let other = get(Some(HOME), "configmap", "kube-root-ca.crt")["data"]["ca.crt"].clone();
    let spoilt = json!([{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle",
        "value": STANDARD.encode(other.as_str().unwrap())}]);
    let hook = [
        "patch",
        "mutatingwebhookconfiguration",
        "airside-images-admission",
    ];
    kubectl(&[&hook[..], &["--type=json", "-p", &spoilt.to_string()]].concat());
    wait_until("it is as it was", || told() == before);
}

#[test]
fn its_account_can_let_pods_go_and_nothing_more() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let plain = team.pod("plain", &untouched(BUSYBOX));
    create(&plain);
    let account = format!("--as=system:serviceaccount:{HOME}:airside-images-admission");
    let mut evil = plain;
    evil["spec"]["containers"][0]["image"] = json!("evil");
    let words = try_apply_as(&account, &evil).unwrap_err();
    assert!(words.contains("only pods that wait"), "{words}");
    for (verb, what, namespace, expected) in [
        ("get", "secrets/other", HOME, "no"),
        ("list", "secrets", HOME, "no"),
        ("get", "secrets/airside-images-admission-tls", HOME, "yes"),
        (
            "get",
            "secrets/airside-images-admission-tls",
            "default",
            "no",
        ),
        ("delete", "pods", HOME, "no"),
        ("create", "pods", HOME, "no"),
        ("update", "nodes", HOME, "no"),
        ("patch", "mutatingwebhookconfigurations/other", HOME, "no"),
        ("update", "imagesets", HOME, "no"),
    ] {
        let asked = ["auth", "can-i", verb, what, "-n", namespace, &account];
        let said = admission::try_kubectl(&asked).unwrap_or_else(|_| "no".to_owned());
        assert_eq!(said.trim(), expected, "{verb} {what} in {namespace}");
    }
}
