//! The Kubernetes objects that control needs in its clusters, as `airside k8s control-objects`
//! prints them.

use std::collections::BTreeSet;

use airside_control_objects::{CREATOR_ANNOTATION, GROUP, VERSION, definitions};
use airside_kube_objects::{
    Manifest, meta,
    rbac::{self, Account},
    strings,
};
use k8s_openapi::api::admissionregistration::v1::{
    ApplyConfiguration, MatchResources, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation,
    NamedRuleWithOperations, Variable,
};

use crate::{
    file::ControlCluster,
    rights::{roles_of_people, server_rules},
};

/// Name of the policy that notes who created a build.
const CREATOR_POLICY: &str = "airside-ci-creator";

/// Choices for the objects of a cluster.
#[derive(Clone, Debug)]
pub struct ControlInstall {
    /// The account of the server.
    pub account: Account,
    /// True if the cluster's own roles `view` and `edit` contain the rights on pipelines.
    pub is_aggregated: bool,
}

impl ControlInstall {
    /// Returns the objects for some clusters: definitions, roles for people, the policy about
    /// creators, and the server's own rights in the namespace of each team.
    pub fn manifest(&self, clusters: &[ControlCluster]) -> Manifest {
        let mut manifest = Manifest::new();
        for definition in definitions() {
            manifest = manifest.with(&definition);
        }
        for role in roles_of_people(self.is_aggregated) {
            manifest = manifest.with(&role);
        }
        manifest = manifest
            .with_comment(
                "Notes in an annotation who created a build; Kubernetes itself does not keep that.",
                &creator_policy(),
            )
            .with(&creator_binding());
        let teams = clusters.iter().flat_map(|cluster| &cluster.teams);
        let namespaces: BTreeSet<&str> = teams.map(|team| team.namespace.as_str()).collect();
        let name = format!("{}-control", self.account.name);
        for namespace in namespaces {
            let mut binding = rbac::role_binding(namespace, &name, &self.account);
            binding.metadata = meta::namespaced(namespace, &name);
            manifest = manifest
                .with(&rbac::role(namespace, &name, server_rules()))
                .with(&binding);
        }
        manifest
    }
}

/// A policy that writes the user into an annotation of each new build, whatever was there, and
/// keeps it as it was afterwards.
fn creator_policy() -> MutatingAdmissionPolicy {
    let kept = format!(
        "has(oldObject.metadata.annotations) && '{CREATOR_ANNOTATION}' in oldObject.metadata.annotations \
         ? oldObject.metadata.annotations['{CREATOR_ANNOTATION}'] : ''"
    );
    let creator = format!("request.operation == 'CREATE' ? request.userInfo.username : ({kept})");
    let expression = format!(
        "Object{{metadata: Object.metadata{{annotations: {{'{CREATOR_ANNOTATION}': variables.creator}}}}}}"
    );
    MutatingAdmissionPolicy {
        metadata: meta::cluster_wide(CREATOR_POLICY),
        spec: Some(MutatingAdmissionPolicySpec {
            // A policy that is passed over would let a forged creator through.
            failure_policy: Some("Fail".to_owned()),
            reinvocation_policy: Some("IfNeeded".to_owned()),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![NamedRuleWithOperations {
                    api_groups: Some(strings(&[GROUP])),
                    api_versions: Some(strings(&[VERSION])),
                    operations: Some(strings(&["CREATE", "UPDATE"])),
                    resources: Some(strings(&["pipelinebuilds"])),
                    ..NamedRuleWithOperations::default()
                }]),
                ..MatchResources::default()
            }),
            variables: Some(vec![Variable {
                name: "creator".to_owned(),
                expression: creator,
            }]),
            mutations: Some(vec![Mutation {
                patch_type: "ApplyConfiguration".to_owned(),
                apply_configuration: Some(ApplyConfiguration {
                    expression: Some(expression),
                }),
                ..Mutation::default()
            }]),
            ..MutatingAdmissionPolicySpec::default()
        }),
    }
}

fn creator_binding() -> MutatingAdmissionPolicyBinding {
    MutatingAdmissionPolicyBinding {
        metadata: meta::cluster_wide(CREATOR_POLICY),
        spec: Some(MutatingAdmissionPolicyBindingSpec {
            policy_name: Some(CREATOR_POLICY.to_owned()),
            ..MutatingAdmissionPolicyBindingSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn printed(is_aggregated: bool) -> Vec<serde_json::Value> {
        let text = "clusters: [{name: a, teams: [{team: main, namespace: ci-main}]}]";
        let clusters = crate::file::parse(Path::new("control.yml"), text).unwrap();
        let install = ControlInstall {
            account: Account::new("airside", "airside"),
            is_aggregated,
        };
        install.manifest(&clusters).objects().cloned().collect()
    }

    #[test]
    fn everything_but_the_definitions() {
        let text = "clusters: [{name: a, teams: [{team: main, namespace: ci-main}]}]";
        let clusters = crate::file::parse(Path::new("control.yml"), text).unwrap();
        let install = ControlInstall {
            account: Account::new("airside", "airside"),
            is_aggregated: false,
        };
        let yaml = install.manifest(&clusters).to_yaml().unwrap();
        let documents = yaml
            .split("---\n")
            .filter(|one| !one.contains("openAPIV3Schema"));
        insta::assert_snapshot!(documents.collect::<Vec<_>>().join("---\n"));
    }

    #[test]
    fn roles_are_aggregated_only_if_asked() {
        let labelled = |objects: Vec<serde_json::Value>| {
            let labelled = objects
                .iter()
                .filter(|it| it["metadata"]["labels"].is_object());
            labelled.count()
        };
        assert_eq!(labelled(printed(false)), 0);
        assert_eq!(labelled(printed(true)), 3);
    }
}
