//! Webhooks: the requests that the API server asks admission about.

use airside_image_admission::{NAME, PLACE, REVIEW_PATH};
use airside_kube_objects::{meta, strings};
use k8s_openapi::{
    api::admissionregistration::v1::{
        MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
        ServiceReference, WebhookClientConfig,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};

use crate::policies::match_condition;

/// Labels that decide about an object or its namespace, beside names that are always left out.
#[derive(Clone, Copy)]
enum OptIn {
    /// Every object whose label and whose namespace's label is not `false`.
    No,
    /// Objects in namespaces with the label `true`.
    ByNamespace,
    /// Objects with the label `true`.
    ByObject,
}

impl OptIn {
    fn on_namespaces(self) -> LabelSelectorRequirement {
        place_label(matches!(self, Self::ByNamespace))
    }

    fn on_objects(self) -> LabelSelectorRequirement {
        place_label(matches!(self, Self::ByObject))
    }
}

fn place_label(must_be_true: bool) -> LabelSelectorRequirement {
    if must_be_true {
        requirement(PLACE, "In", &["true"])
    } else {
        requirement(PLACE, "NotIn", &["false"])
    }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(strings(values)),
    }
}

pub(super) fn hooks(namespace: &str) -> MutatingWebhookConfiguration {
    let pods = MutatingWebhook {
        match_conditions: Some(not_of_a_node()),
        ..hook(
            namespace,
            "pods",
            OptIn::No,
            vec![requests("", &["CREATE"], &["pods"])],
        )
    };
    let ephemeral = requests("", &["UPDATE"], &["pods/ephemeralcontainers"]);
    let webhooks = vec![
        pods,
        hook(namespace, "ephemeral", OptIn::No, vec![ephemeral]),
        hook(namespace, "workloads", OptIn::ByObject, workloads()),
        hook(namespace, "namespaces", OptIn::ByNamespace, workloads()),
    ];
    MutatingWebhookConfiguration {
        metadata: meta::cluster_wide(NAME),
        webhooks: Some(webhooks),
    }
}

fn hook(
    namespace: &str,
    name: &str,
    opt_in: OptIn,
    rules: Vec<RuleWithOperations>,
) -> MutatingWebhook {
    let left_out = requirement(
        "kubernetes.io/metadata.name",
        "NotIn",
        &["kube-system", namespace],
    );
    let selector = |expressions: Vec<LabelSelectorRequirement>| LabelSelector {
        match_expressions: Some(expressions),
        match_labels: None,
    };
    MutatingWebhook {
        name: format!("{name}.images.airside.dev"),
        admission_review_versions: strings(&["v1"]),
        side_effects: "None".to_owned(),
        failure_policy: Some("Ignore".to_owned()),
        timeout_seconds: Some(2),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        client_config: WebhookClientConfig {
            service: Some(ServiceReference {
                name: NAME.to_owned(),
                namespace: namespace.to_owned(),
                path: Some(REVIEW_PATH.to_owned()),
                port: None,
            }),
            ..WebhookClientConfig::default()
        },
        namespace_selector: Some(selector(vec![left_out, opt_in.on_namespaces()])),
        object_selector: Some(selector(vec![opt_in.on_objects()])),
        match_conditions: None,
        rules: Some(rules),
    }
}

fn requests(group: &str, operations: &[&str], resources: &[&str]) -> RuleWithOperations {
    RuleWithOperations {
        api_groups: Some(strings(&[group])),
        api_versions: Some(strings(&["v1"])),
        operations: Some(strings(operations)),
        resources: Some(strings(resources)),
        scope: Some("Namespaced".to_owned()),
    }
}

/// Workloads with templates of pods. A Job is left alone once it is there: its template is fixed.
fn workloads() -> Vec<RuleWithOperations> {
    let both = &["CREATE", "UPDATE"];
    vec![
        requests("apps", both, &["deployments", "statefulsets"]),
        requests("batch", both, &["cronjobs"]),
        requests("batch", &["CREATE"], &["jobs"]),
    ]
}

/// Leaves out pods that belong to one node, which can be seen of pods alone.
fn not_of_a_node() -> Vec<MatchCondition> {
    vec![
        match_condition(
            "not-of-a-node",
            "!has(object.metadata.ownerReferences) \
             || object.metadata.ownerReferences.all(owner, \
             owner.kind != 'DaemonSet' && owner.kind != 'Node')",
        ),
        match_condition(
            "not-a-mirror",
            "!has(object.metadata.annotations) \
             || !('kubernetes.io/config.mirror' in object.metadata.annotations)",
        ),
        match_condition(
            "not-placed",
            "!has(object.spec.nodeName) || object.spec.nodeName == ''",
        ),
    ]
}
