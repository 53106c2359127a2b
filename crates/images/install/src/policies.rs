//! Pieces of admission policies.

use airside_kube_objects::{meta, strings};
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    Validation,
};

/// The binding that makes the API server refuse what the policy of this name does not allow.
pub(crate) fn deny(policy: &str) -> ValidatingAdmissionPolicyBinding {
    ValidatingAdmissionPolicyBinding {
        metadata: meta::cluster_wide(policy),
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: policy.to_owned(),
            validation_actions: strings(&["Deny"]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        },
    }
}

/// A condition that must hold, and the message of the refusal if it does not.
pub(crate) fn validation(expression: &str, message: &str) -> Validation {
    Validation {
        expression: expression.to_owned(),
        message: Some(message.to_owned()),
        ..Validation::default()
    }
}

/// A condition without which the policy or webhook is not asked.
pub(crate) fn match_condition(name: &str, expression: &str) -> MatchCondition {
    MatchCondition {
        name: name.to_owned(),
        expression: expression.to_owned(),
    }
}
