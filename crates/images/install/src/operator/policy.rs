//! Limits that roles cannot express: an agent changes its own node alone, and operator and agents
//! change no part of a node but the labels of the image system.

use airside_image_operator::OPERATOR;
use airside_image_rules::{NODE_AGENT, label::PREFIX};
use airside_kube_objects::{Manifest, meta, rbac::Account, strings};
use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec, Validation, Variable,
};

use crate::policies::{deny, match_condition, validation};

/// Name of the policy and of its binding.
const POLICY: &str = "airside-images";

/// CEL variables of the policy, in the order in which they use each other.
const VARIABLES: [(&str, &str); 6] = [
    ("isNode", "request.resource.resource == 'nodes'"),
    (
        "target",
        "object == null ? oldObject.metadata.name : object.metadata.name",
    ),
    (
        "tokensNode",
        "'authentication.kubernetes.io/node-name' in request.userInfo.extra \
         ? request.userInfo.extra['authentication.kubernetes.io/node-name'][0] : ''",
    ),
    ("isUpdate", "request.operation == 'UPDATE'"),
    (
        "before",
        "variables.isNode && variables.isUpdate && has(oldObject.metadata.labels) \
         ? oldObject.metadata.labels : {}",
    ),
    (
        "after",
        "variables.isNode && variables.isUpdate && has(object.metadata.labels) \
         ? object.metadata.labels : {}",
    ),
];

pub(super) fn policy(namespace: &str) -> Manifest {
    let agent = Account::new(namespace, NODE_AGENT).user_name();
    let operator = Account::new(namespace, OPERATOR).user_name();
    let policy = ValidatingAdmissionPolicy {
        metadata: meta::cluster_wide(POLICY),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![
                    changes_of("", &["nodes", "nodes/*"]),
                    changes_of("images.airside.dev", &["nodeimages", "nodeimages/*"]),
                ]),
                ..MatchResources::default()
            }),
            match_conditions: Some(vec![match_condition(
                "agents-and-operator",
                &format!("request.userInfo.username in ['{agent}', '{operator}']"),
            )]),
            variables: Some(variables(&agent)),
            validations: Some(validations()),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        ..ValidatingAdmissionPolicy::default()
    };
    Manifest::new()
        .with_comment(
            "An agent changes its own node and its own NodeImages; of nodes only labels change.",
            &policy,
        )
        .with(&deny(POLICY))
}

fn changes_of(group: &str, resources: &[&str]) -> NamedRuleWithOperations {
    NamedRuleWithOperations {
        api_groups: Some(strings(&[group])),
        api_versions: Some(strings(&["*"])),
        operations: Some(strings(&["CREATE", "UPDATE", "DELETE"])),
        resources: Some(strings(resources)),
        ..NamedRuleWithOperations::default()
    }
}

fn variables(agent: &str) -> Vec<Variable> {
    let is_agent = format!("request.userInfo.username == '{agent}'");
    let all = std::iter::once(("isAgent", is_agent.as_str())).chain(VARIABLES);
    let variable = |(name, expression): (&str, &str)| Variable {
        name: name.to_owned(),
        expression: expression.to_owned(),
    };
    all.map(variable).collect()
}

fn validations() -> Vec<Validation> {
    let own_node = Validation {
        expression: "!variables.isAgent || variables.tokensNode == \"\" \
                     || variables.target == variables.tokensNode"
            .to_owned(),
        message_expression: Some(
            "'the agent of images on ' + variables.tokensNode + ' may not change ' \
             + variables.target"
                .to_owned(),
        ),
        ..Validation::default()
    };
    vec![
        validation(
            "!variables.isAgent || variables.tokensNode != \"\"",
            "an agent of images needs a token that is bound to its node",
        ),
        own_node,
        validation(
            "!variables.isNode || (variables.isUpdate \
             && (!has(request.subResource) || request.subResource == \"\"))",
            "of nodes only labels are changed here",
        ),
        validation(
            &format!(
                "!variables.isNode || !variables.isUpdate || \
                 (variables.after.all(key, key.startsWith('{PREFIX}') || \
                 (key in variables.before && variables.before[key] == variables.after[key])) && \
                 variables.before.all(key, key.startsWith('{PREFIX}') || key in variables.after))"
            ),
            &format!("of a node's labels only those that begin with {PREFIX} are changed here"),
        ),
        validation(
            "!variables.isNode || !variables.isUpdate || \
             (object.spec == oldObject.spec && \
             object.metadata.?annotations == oldObject.metadata.?annotations && \
             object.metadata.?finalizers == oldObject.metadata.?finalizers && \
             object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences)",
            "of a node nothing but labels is changed here",
        ),
    ]
}
