//! What the operator may do, and nothing else. `docs/images.md` says why it needs each.

use std::fmt::Write as _;

use super::Installation;
use crate::{CA_CONFIG_MAP, CERTS_SECRET, LEASE};

pub(super) fn rights(installation: &Installation) -> String {
    let namespace = &installation.namespace;
    let mut text = format!(
        "\
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: airside-images-operator
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: airside-images-operator
rules:
- apiGroups: [images.airside.dev]
  resources: [imagesets]
  verbs: [list, watch, patch]
- apiGroups: [images.airside.dev]
  resources: [imagesets/status]
  verbs: [patch]
- apiGroups: [images.airside.dev]
  resources: [nodeimages]
  verbs: [list, watch, delete]
- apiGroups: [\"\"]
  resources: [nodes]
  verbs: [list, watch, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: airside-images-operator
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: airside-images-operator
subjects:
- kind: ServiceAccount
  name: airside-images-operator
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: airside-images-pull-secrets
rules:
- apiGroups: [\"\"]
  resources: [secrets]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: airside-images-operator
  namespace: {namespace}
rules:
# What is created has no name yet that a role could ask for.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{LEASE}]
  verbs: [get, update]
- apiGroups: [\"\"]
  resources: [secrets, configmaps]
  verbs: [create]
- apiGroups: [\"\"]
  resources: [secrets]
  resourceNames: [{CERTS_SECRET}]
  verbs: [get, update]
- apiGroups: [\"\"]
  resources: [configmaps]
  resourceNames: [{CA_CONFIG_MAP}]
  verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: airside-images-operator
  namespace: {namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: airside-images-operator
subjects:
- kind: ServiceAccount
  name: airside-images-operator
  namespace: {namespace}
"
    );
    let places = match installation.secret_namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().map(Some).collect(),
    };
    for place in places {
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "{}",
            reading_secrets(namespace, place.map(String::as_str))
        );
    }
    text
}

/// Where pull secrets are read: in one namespace, or in all.
fn reading_secrets(namespace: &str, place: Option<&str>) -> String {
    let (kind, place) = match place {
        Some(place) => ("RoleBinding", format!("\n  namespace: {place}")),
        None => ("ClusterRoleBinding", String::new()),
    };
    format!(
        "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata:
  name: airside-images-pull-secrets{place}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: airside-images-pull-secrets
subjects:
- kind: ServiceAccount
  name: airside-images-operator
  namespace: {namespace}
"
    )
}
