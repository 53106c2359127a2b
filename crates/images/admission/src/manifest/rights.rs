//! What admission may do, and no more.

use crate::NAME;

/// `workloads` adds what it takes to place those that are there already.
pub(super) fn rights(namespace: &str, workloads: bool) -> String {
    let more = match workloads {
        true => WORKLOADS,
        false => "",
    };
    format!(
        "\
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {NAME}
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {NAME}
rules:
# What belongs where, and where it is.
- apiGroups: [images.airside.dev]
  resources: [imagesets]
  verbs: [list, watch]
- apiGroups: [\"\"]
  resources: [nodes]
  verbs: [list, watch]
# To let pods go that wait; the policy below allows nothing else.
- apiGroups: [\"\"]
  resources: [pods]
  verbs: [list, watch, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# To tell the API server whom to trust.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  resourceNames: [{NAME}]
  verbs: [get, list, watch, patch]
{more}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {NAME}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {NAME}
subjects:
- kind: ServiceAccount
  name: {NAME}
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {NAME}
  namespace: {namespace}
rules:
# Its own certificate. What does not exist yet cannot be named.
- apiGroups: [\"\"]
  resources: [secrets]
  resourceNames: [{NAME}-tls]
  verbs: [get, update]
- apiGroups: [\"\"]
  resources: [secrets]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {NAME}
  namespace: {namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {NAME}
subjects:
- kind: ServiceAccount
  name: {NAME}
  namespace: {namespace}
"
    )
}

const WORKLOADS: &str = "\
# To place workloads that were there before their image set.
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, patch]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch, patch]
- apiGroups: [\"\"]
  resources: [namespaces]
  verbs: [list, watch]
";
