//! Rights of admission, and no others.

use airside_image_admission::{CERTS_SECRET, NAME};
use airside_kube_objects::{
    Manifest,
    rbac::{Account, cluster_role, cluster_role_binding, role, role_binding, rule, rule_for},
};
use k8s_openapi::api::rbac::v1::PolicyRule;

/// `workloads` adds the rights to place workloads that exist already.
pub(super) fn rights(namespace: &str, workloads: bool) -> Manifest {
    let account = Account::new(namespace, NAME);
    let mut rules = in_the_cluster();
    if workloads {
        rules.extend(for_workloads());
    }
    Manifest::new()
        .with(&account.object())
        .with_comment(
            "It reads image sets and nodes, ends the wait of pods, and tells the API server which\n\
             certificate its webhooks have. A policy below limits what it changes in pods.",
            &cluster_role(NAME, rules),
        )
        .with(&cluster_role_binding(NAME, &account))
        .with_comment(
            "Its own certificate. A role cannot limit `create` to names.",
            &role(namespace, NAME, in_its_namespace()),
        )
        .with(&role_binding(namespace, NAME, &account))
}

fn in_the_cluster() -> Vec<PolicyRule> {
    vec![
        rule("images.airside.dev", &["imagesets"], &["list", "watch"]),
        rule("", &["nodes"], &["list", "watch"]),
        rule("", &["pods"], &["list", "watch", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule_for(
            NAME,
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            &["get", "list", "watch", "patch"],
        ),
    ]
}

/// Rights to place workloads that were there before their image set.
fn for_workloads() -> [PolicyRule; 3] {
    let change = &["get", "list", "watch", "patch"];
    [
        rule("apps", &["deployments", "statefulsets"], change),
        rule("batch", &["cronjobs"], change),
        rule("", &["namespaces"], &["list", "watch"]),
    ]
}

fn in_its_namespace() -> Vec<PolicyRule> {
    vec![
        rule_for(CERTS_SECRET, "", "secrets", &["get", "update"]),
        rule("", &["secrets"], &["create"]),
    ]
}
