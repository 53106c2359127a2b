//! Facts about nodes that are found before any step, and steps where nodes have no user namespaces.
//! Needs a cluster: see `make test-cluster-all`.

use std::{fs, process::Command};

use crate::support::{Namespace, WORKER, one_task, task};
use airside_scenarios::{Environment, Fly, Server, wait_until};
use serde_json::Value;

/// Returns the features that the worker lacks, as `fly workers -d` shows them.
fn lacks(server: &Server, fly: &Fly) -> String {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (_, listed) = server.http("GET", "/api/v1/workers", &headers, "");
    let workers: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let worker = workers.iter().find(|it| it["name"] == WORKER).unwrap();
    worker["addr"].as_str().unwrap_or_default().to_owned()
}

fn apply(namespace: &Namespace, text: &str) {
    let file = namespace.kubeconfig().with_file_name("apply.yml");
    fs::write(&file, text).unwrap();
    namespace.kubectl(&["apply", "-f", file.to_str().unwrap()]);
}

#[test]
fn a_node_is_looked_at_before_any_step() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let found = "pods have user namespaces with 65536 ids, overlay file systems work in them";
    wait_until("the node was looked at", || server.log().contains(found));
    assert_eq!(lacks(&server, &server.fly()), "");
    wait_until("nothing is left of it", || {
        namespace.kubectl(&["get", "pods", "-o", "name"]).is_empty()
    });
}

/// Does to pods what a cluster without user namespaces does: the wish for one is lost on the way.
fn without_user_namespaces(name: &str) -> String {
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  mutations:
  - {{patchType: ApplyConfiguration, applyConfiguration: {{expression: "Object{{spec: Object.spec{{hostUsers: true}}}}"}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}}}
"#
    )
}

#[test]
fn nodes_without_user_namespaces_get_no_steps() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    apply(&namespace, &without_user_namespaces(&namespace.name));
    let image = "--image=airside.local/busybox:dev";
    let tried = ["--dry-run=server", "-o", "jsonpath={.spec.hostUsers}"];
    wait_until("the policy is in force", || {
        let run = [&["run", "tried", image][..], &tried].concat();
        namespace.kubectl(&run) == "true"
    });
    let server = namespace.server();
    let fly = server.fly();
    wait_until("the worker says so", || {
        lacks(&server, &fly).contains("gives pods no user namespace")
    });
    fly.pipeline("p", &one_task("echo never"));
    let output = fly.trigger_and_watch("p/build").ended_with(2);
    let words = "cannot run steps because node";
    assert!(output.stdout.contains(words), "{output:?}");
    for kind in ["mutatingadmissionpolicybinding", "mutatingadmissionpolicy"] {
        namespace.kubectl(&["delete", kind, &namespace.name]);
    }
}

fn hermetic() -> String {
    let script = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort | xargs echo networks";
    let alone =
        task("alone", script, "").replace("    config:\n", "    hermetic: true\n    config:\n");
    format!("jobs:\n- name: build\n  plan:\n{alone}")
}

#[test]
fn a_policy_holds_hermetic_steps_where_there_are_no_user_namespaces() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let rights = Command::new(Environment::get().airside)
        .args(["k8s", "rbac", "--namespace", &namespace.name])
        .args(["--feature", "network-policies"])
        .output()
        .unwrap();
    apply(&namespace, &String::from_utf8(rights.stdout).unwrap());
    let server = namespace.server_with("  host_users: true\n");
    let fly = server.fly();
    wait_until("the worker warns", || {
        lacks(&server, &fly).contains("network plugin must enforce NetworkPolicies")
    });
    fly.pipeline("p", &hermetic());
    let output = fly.trigger_and_watch("p/build").succeeded();
    // The pod's own network: that nothing leaves it is the cluster's business.
    assert!(output.stdout.contains("networks eth0 lo"), "{output:?}");
    let egress = "jsonpath={.items[*].spec.egress[*].to[*].ipBlock.cidr}";
    let open = namespace.kubectl(&["get", "networkpolicies", "-o", egress]);
    assert_eq!(open, format!("{}/32", namespace.host));
    namespace.wait_until_no_pods();
}

#[test]
fn without_the_right_to_policies_hermetic_steps_are_refused() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with("  host_users: true\n");
    let fly = server.fly();
    let words = "may not create networkpolicies";
    wait_until("the worker says so", || {
        lacks(&server, &fly).contains(words)
    });
    fly.pipeline("p", &hermetic());
    let output = fly.trigger_and_watch("p/build").ended_with(2);
    assert!(output.stdout.contains(words), "{output:?}");
    fly.pipeline("p", &one_task("echo others run"));
    fly.trigger_and_watch("p/build").succeeded();
    namespace.wait_until_no_pods();
}
