//! Faults around a node agent: registries that fail, restarts of everything, changes by hand. Needs
//! a cluster: see `make test-cluster-all`.

use crate::support::agent::{NODE_NAME, Stage};
use airside_scenarios::wait_until;
use serde_json::json;

#[test]
fn a_registry_that_is_down_is_tried_again() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.shelf.down(true);
    stage.set("one", &[&image], json!({}));
    wait_until("a failure is told", || {
        stage.told(&image)["attempts"].as_u64() > Some(0)
    });
    let told = stage.told(&image);
    assert_eq!(told["state"], "pending", "{told}");
    assert!(
        told["nextTry"].is_string() && !told["message"].as_str().unwrap().is_empty(),
        "{told}"
    );
    assert!(stage.labels().is_empty());
    stage.shelf.down(false);
    let told = stage.wait_for_state(&image, "present");
    assert_eq!(
        (&told["attempts"], &told["message"]),
        (&json!(0), &json!(null)),
        "{told}"
    );
}

#[test]
fn a_registry_that_refuses_layers_is_quoted_and_tried_again() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let refusals = [(401, "401"), (403, "403"), (404, "not found"), (429, "429")];
    let images = refusals.map(|(status, words)| {
        let image = stage.shelf.image(&format!("app:{status}"), 1);
        stage.shelf.refuse(&image.layer, Some(status));
        (image, words)
    });
    let all: Vec<_> = images.iter().map(|(image, _)| image).collect();
    stage.set("one", &all, json!({}));
    for (image, words) in &images {
        wait_until("a failure is told", || {
            stage.told(image)["attempts"].as_u64() > Some(0)
        });
        let told = stage.told(image);
        let message = told["message"].as_str().unwrap().to_lowercase();
        assert!(message.contains(words), "{words}: {told}");
        assert!(told["nextTry"].is_string(), "{told}");
    }
    assert!(stage.labels().is_empty());
    for image in all {
        stage.shelf.refuse(&image.layer, None);
    }
    for (image, _) in &images {
        stage.wait_for_state(image, "present");
    }
    stage.wait_for_labels(4, "=present");
}

#[test]
fn a_slow_registry_holds_up_nothing_but_what_comes_from_it() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let (slow, quick) = (
        stage.shelf.image("slow:1", 2),
        stage.shelf.image("quick:1", 1),
    );
    stage.shelf.hold_one(&slow.layer);
    stage.set("slow", &[&slow], json!({}));
    stage.wait_for_state(&slow, "pulling");
    wait_until("the layer is asked for", || stage.shelf.waiting() > 0);
    stage.set("quick", &[&quick], json!({}));
    stage.wait_for_state(&quick, "present");
    let told = stage.told(&slow);
    assert_eq!(told["state"], "pulling", "{told}");
    assert!(told["since"].is_string(), "{told}");
    stage.shelf.hold(false);
    let told = stage.wait_for_state(&slow, "present");
    assert_eq!(told["attempts"], 0, "slow is not a failure");
    assert_eq!(stage.shelf.fetched(&slow.layer), 1);
}

#[test]
fn wrong_content_is_an_error_until_the_set_changes() {
    let Some(mut stage) = Stage::with_agent(&[]) else {
        return;
    };
    let (image, other) = (
        stage.shelf.image("app:1", 1),
        stage.shelf.image("other:1", 1),
    );
    stage.shelf.swap(&image.digest, Some(&other.digest));
    stage.set("one", &[&image], json!({"failuresBeforeError": 1}));
    let told = stage.wait_for_state(&image, "error");
    assert!(
        told["message"].as_str().unwrap().contains("sha256"),
        "{told}"
    );
    stage.wait_for_labels(1, "=error");
    // The next agent remembers it, and does not try at once.
    stage.kill_9();
    let beat = stage.status()["heartbeat"].clone();
    stage.start_again();
    wait_until("the next agent told something", || {
        stage.status()["heartbeat"] != beat
    });
    assert_eq!(stage.told(&image)["attempts"], 1);
    stage.shelf.swap(&image.digest, None);
    stage.set("one", &[&image], json!({"failuresBeforeError": 2}));
    stage.wait_for_state(&image, "present");
    stage.wait_for_labels(1, "=present");
}

#[test]
fn a_pull_survives_a_restart_of_containerd() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 8);
    stage.shelf.hold(true);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_state(&image, "pulling");
    wait_until("the layer is asked for", || stage.shelf.waiting() > 0);
    stage.cluster.ask(&["containerd-restart", "1"]);
    stage.shelf.hold(false);
    let told = stage.wait_for_state(&image, "present");
    assert_eq!(told["attempts"], 0, "nobody's fault");
    stage.wait_for_labels(1, "=present");
    // The connection for events is made anew too.
    let label = stage.labels().remove(0).replace("=present", "");
    stage.kubectl(&["label", "node", NODE_NAME, &format!("{label}-")]);
    stage.wait_for_labels(1, "=present");
}

#[test]
fn an_agent_may_be_killed_at_any_time() {
    let Some(mut stage) = Stage::with_agent(&["--heartbeat=1"]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.shelf.hold(true);
    stage.set("one", &[&image], json!({}));
    for kill in 1..=3 {
        wait_until("the layer is asked for", || stage.shelf.waiting() >= kill);
        stage.kill_9();
        stage.start_again();
    }
    wait_until("the layer is asked for", || stage.shelf.waiting() >= 4);
    stage.shelf.hold(false);
    stage.wait_for_state(&image, "present");
    let fetched = stage.shelf.fetched(&image.layer);
    for _ in 0..3 {
        stage.kill_9();
        let beat = stage.status()["heartbeat"].clone();
        stage.start_again();
        wait_until("the next agent told something", || {
            stage.status()["heartbeat"] != beat
        });
        assert_eq!(stage.told(&image)["state"], "present");
    }
    assert_eq!(
        stage.shelf.fetched(&image.layer),
        fetched,
        "nothing is pulled twice"
    );
    assert!(
        stage.marks(&image).contains("images.airside.dev/pulled="),
        "it is known as ours"
    );
    stage.delete_set("one");
    stage.wait_until_gone(&image);
}

#[test]
fn a_node_that_is_deleted_and_comes_back_has_its_labels() {
    let Some(stage) = Stage::with_agent(&["--heartbeat=1"]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_labels(1, "=present");
    stage.wait_for_state(&image, "present");
    stage.kubectl(&["delete", "node", NODE_NAME]);
    wait_until("what was told went with the node", || {
        stage.status().is_null()
    });
    assert!(
        stage.has(&image),
        "nothing is taken from a node that nobody knows"
    );
    stage.cluster.ask(&["kubelet-restart", "1"]);
    stage.wait_for_labels(1, "=present");
    stage.wait_for_state(&image, "present");
    assert_eq!(stage.shelf.fetched(&image.layer), 1);
}

#[test]
fn what_a_pod_runs_from_stays_until_it_ends() {
    let Some(stage) = Stage::with_agent(&[]) else {
        return;
    };
    let (old, new) = (stage.shelf.runnable("app:1"), stage.shelf.image("app:1", 1));
    stage.set("one", &[&old], json!({}));
    stage.wait_for_labels(1, "=present");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
        "spec": {"nodeName": NODE_NAME, "terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": old.name, "imagePullPolicy": "Never", "command": ["sleep", "600"],
        }]},
    });
    stage.apply_own("pod.json", &pod.to_string());
    stage.kubectl_own(&["wait", "--for=condition=Ready", "pod/user", "--timeout=60s"]);
    // The tag is pushed anew while the pod runs.
    stage.resolve("one", &[&new]);
    stage.wait_for_state(&new, "present");
    wait_until("the old image is unpinned", || {
        !stage.marks(&old).contains("pinned=pinned")
    });
    assert!(stage.has(&old));
    stage.kubectl_own(&["delete", "pod", "user"]);
    stage.wait_until_gone(&old);
}

#[test]
fn a_login_that_nobody_gives_is_waited_for() {
    let Some(stage) = Stage::with_agent(&[
        "--operator=http://127.0.0.1:1",
        "--operator-token=/dev/null",
    ]) else {
        return;
    };
    let (private, open) = (
        stage.shelf.image("private:1", 1),
        stage.shelf.image("open:1", 1),
    );
    stage.set("private", &[&private], json!({"pullSecrets": ["login"]}));
    stage.set("open", &[&open], json!({}));
    stage.wait_for_state(&open, "present");
    let told = stage.wait_for_state(&private, "pending");
    wait_until("why is told", || {
        stage.told(&private)["message"]
            .as_str()
            .is_some_and(|words| words.starts_with("it waits for a login"))
    });
    assert_eq!(told["attempts"], 0, "no failure");
    assert_eq!(stage.shelf.fetched(&private.layer), 0);
    let status = stage.status();
    let mut conditions = status["conditions"].as_array().unwrap().iter();
    assert!(
        conditions.any(|it| it["type"] == "OperatorReachable" && it["status"] == "False"),
        "{status}"
    );
}

#[test]
fn a_node_without_the_socket_says_so() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let mut agent = stage.agent_at(std::path::Path::new("/no/such.sock"));
    let output = agent.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("no socket at /no/such.sock") && said.contains("--runtime-socket"),
        "{said}"
    );
}

#[test]
fn cleaning_leaves_nothing() {
    let Some(mut stage) = Stage::with_agent(&[]) else {
        return;
    };
    let image = stage.shelf.image("app:1", 1);
    stage.set("one", &[&image], json!({}));
    stage.wait_for_state(&image, "present");
    stage.clean(&["--keep-images"]);
    assert!(stage.has(&image) && !stage.marks(&image).contains("images.airside.dev/"));
    assert!(stage.labels().is_empty() && stage.status().is_null());
    // Not ours any more: adopted by the next agent, and left by the next cleaning.
    stage.start_again();
    stage.wait_for_state(&image, "present");
    stage.clean(&[]);
    assert!(stage.has(&image), "{}", stage.marks(&image));
    let other = stage.shelf.image("other:1", 1);
    stage.start_again();
    stage.set("one", &[&other], json!({}));
    stage.wait_for_state(&other, "present");
    stage.clean(&[]);
    assert!(!stage.has(&other));
    assert!(
        !stage
            .names()
            .iter()
            .any(|name| name.contains("images.airside.dev/"))
    );
    assert!(stage.labels().is_empty() && stage.status().is_null());
}
