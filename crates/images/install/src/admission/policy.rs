//! Limits of admission's right to patch pods: it opens the gate of pods that wait, and changes
//! nothing that they run.

use airside_image_admission::NAME;
use airside_image_rules::placement::GATE;
use airside_kube_objects::{Manifest, meta, rbac::Account, strings};
use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec, Validation,
};

use crate::policies::{deny, match_condition, validation};

pub(super) fn policy(namespace: &str) -> Manifest {
    let user = Account::new(namespace, NAME).user_name();
    let pods = NamedRuleWithOperations {
        api_groups: Some(strings(&[""])),
        api_versions: Some(strings(&["v1"])),
        operations: Some(strings(&["UPDATE"])),
        resources: Some(strings(&["pods"])),
        ..NamedRuleWithOperations::default()
    };
    let policy = ValidatingAdmissionPolicy {
        metadata: meta::cluster_wide(NAME),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![pods]),
                ..MatchResources::default()
            }),
            match_conditions: Some(vec![match_condition(
                "by-admission",
                &format!("request.userInfo.username == '{user}'"),
            )]),
            validations: Some(validations()),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        ..ValidatingAdmissionPolicy::default()
    };
    Manifest::new()
        .with_comment(
            "Admission changes only pods that wait for their images, and nothing that they run.",
            &policy,
        )
        .with(&deny(NAME))
}

fn validations() -> Vec<Validation> {
    vec![
        validation(
            &format!(
                "has(oldObject.spec.schedulingGates) \
                 && oldObject.spec.schedulingGates.exists(gate, gate.name == '{GATE}')"
            ),
            "only pods that wait for their images may be changed",
        ),
        validation(
            "object.spec.containers.map(container, container.image) \
             == oldObject.spec.containers.map(container, container.image) \
             && (has(object.spec.initContainers) \
             ? object.spec.initContainers.map(container, container.image) : []) \
             == (has(oldObject.spec.initContainers) \
             ? oldObject.spec.initContainers.map(container, container.image) : [])",
            "what a pod runs may not be changed",
        ),
        validation(
            "(has(object.spec.nodeSelector) ? object.spec.nodeSelector : {}) \
             == (has(oldObject.spec.nodeSelector) ? oldObject.spec.nodeSelector : {})",
            "where a pod goes may not be changed",
        ),
    ]
}
