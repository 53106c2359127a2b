//! Rights of the operator, and no others. `docs/images.md` says why it needs each.

use airside_image_operator::{CA_CONFIG_MAP, CERTS_SECRET, LEASE, OPERATOR};
use airside_kube_objects::{
    Manifest,
    rbac::{
        Account, cluster_role, cluster_role_binding, cluster_role_in, role, role_binding, rule,
        rule_for,
    },
};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::OperatorInstall;

/// ClusterRole that reads pull secrets.
const PULL_SECRETS: &str = "airside-images-pull-secrets";
/// API group of the image system's own resources.
const IMAGES: &str = "images.airside.dev";

pub(super) fn rights(install: &OperatorInstall) -> Manifest {
    let namespace = &install.namespace;
    let account = Account::new(namespace, OPERATOR);
    let secrets = vec![rule("", &["secrets"], &["get"])];
    let manifest = Manifest::new()
        .with(&account.object())
        .with(&cluster_role(OPERATOR, in_the_cluster()))
        .with(&cluster_role_binding(OPERATOR, &account))
        .with(&cluster_role(PULL_SECRETS, secrets))
        .with_comment(
            "A role cannot limit `create` to names: the object has none yet when it is asked for.",
            &role(namespace, OPERATOR, in_its_namespace()),
        )
        .with(&role_binding(namespace, OPERATOR, &account));
    if install.secret_namespaces.is_empty() {
        return manifest.with(&cluster_role_binding(PULL_SECRETS, &account));
    }
    let namespaces = install.secret_namespaces.iter();
    namespaces.fold(manifest, |manifest, it| {
        manifest.with(&cluster_role_in(it, PULL_SECRETS, &account))
    })
}

fn in_the_cluster() -> Vec<PolicyRule> {
    vec![
        rule(IMAGES, &["imagesets"], &["list", "watch", "patch"]),
        rule(IMAGES, &["imagesets/status"], &["patch"]),
        rule(IMAGES, &["nodeimages"], &["list", "watch", "delete"]),
        rule("", &["nodes"], &["list", "watch", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
    ]
}

fn in_its_namespace() -> Vec<PolicyRule> {
    let leases = "coordination.k8s.io";
    vec![
        rule(leases, &["leases"], &["create"]),
        rule_for(LEASE, leases, "leases", &["get", "update"]),
        rule("", &["secrets", "configmaps"], &["create"]),
        rule_for(CERTS_SECRET, "", "secrets", &["get", "update"]),
        rule_for(CA_CONFIG_MAP, "", "configmaps", &["get", "patch"]),
    ]
}
