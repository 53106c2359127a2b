//! What the API server asks about, and what it does not.

use crate::{NAME, PLACE, serve::REVIEW_PATH};

/// One webhook.
struct Hook {
    name: &'static str,
    /// What it is asked about, as YAML.
    rules: &'static str,
    /// Beside those that are left alone: only namespaces or objects with the label `true`.
    only: Only,
    /// Whether pods that belong to a node are left out, which can be told of pods alone.
    is_about_pods: bool,
}

enum Only {
    /// All but those that say `false`.
    NotOptedOut,
    Namespaces,
    Objects,
}

const PODS: &str = "  - apiGroups: [\"\"]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
    scope: Namespaced
";

const EPHEMERAL: &str = "  - apiGroups: [\"\"]
    apiVersions: [v1]
    operations: [UPDATE]
    resources: [pods/ephemeralcontainers]
    scope: Namespaced
";

// A Job's template cannot be changed once it is there.
const WORKLOADS: &str = "  - apiGroups: [apps]
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: [deployments, statefulsets]
    scope: Namespaced
  - apiGroups: [batch]
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: [cronjobs]
    scope: Namespaced
  - apiGroups: [batch]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [jobs]
    scope: Namespaced
";

const HOOKS: [Hook; 4] = [
    Hook {
        name: "pods",
        rules: PODS,
        only: Only::NotOptedOut,
        is_about_pods: true,
    },
    Hook {
        name: "ephemeral",
        rules: EPHEMERAL,
        only: Only::NotOptedOut,
        is_about_pods: false,
    },
    Hook {
        name: "workloads",
        rules: WORKLOADS,
        only: Only::Objects,
        is_about_pods: false,
    },
    Hook {
        name: "namespaces",
        rules: WORKLOADS,
        only: Only::Namespaces,
        is_about_pods: false,
    },
];

const MATCH_CONDITIONS: &str = "  matchConditions:
  - name: not-of-a-node
    expression: >-
      !has(object.metadata.ownerReferences)
      || object.metadata.ownerReferences.all(owner, owner.kind != 'DaemonSet' && owner.kind != 'Node')
  - name: not-a-mirror
    expression: >-
      !has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)
  - name: not-placed
    expression: \"!has(object.spec.nodeName) || object.spec.nodeName == ''\"
";

pub(super) fn hooks(namespace: &str) -> String {
    let mut text = format!(
        "\
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: {NAME}
webhooks:
"
    );
    for hook in &HOOKS {
        text.push_str(&hook.text(namespace));
    }
    text
}

impl Hook {
    fn text(&self, namespace: &str) -> String {
        let Self { name, rules, .. } = self;
        let (namespaces, objects) = match self.only {
            Only::NotOptedOut => (("NotIn", "\"false\""), ("NotIn", "\"false\"")),
            Only::Namespaces => (("In", "\"true\""), ("NotIn", "\"false\"")),
            Only::Objects => (("NotIn", "\"false\""), ("In", "\"true\"")),
        };
        let conditions = match self.is_about_pods {
            true => MATCH_CONDITIONS,
            false => "",
        };
        format!(
            "\
- name: {name}.images.airside.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  # Pods start as if we were not there rather than not at all.
  failurePolicy: Ignore
  timeoutSeconds: 2
  reinvocationPolicy: IfNeeded
  matchPolicy: Equivalent
  clientConfig:
    service:
      name: {NAME}
      namespace: {namespace}
      path: {REVIEW_PATH}
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: [kube-system, {namespace}]
    - key: {PLACE}
      operator: {}
      values: [{}]
  objectSelector:
    matchExpressions:
    - key: {PLACE}
      operator: {}
      values: [{}]
{conditions}  rules:
{rules}",
            namespaces.0, namespaces.1, objects.0, objects.1
        )
    }
}
