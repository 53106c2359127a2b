//! Rights as Kubernetes objects.

use std::collections::BTreeMap;

use airside_kube_objects::{Manifest, rbac};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::Feature;

pub use airside_kube_objects::rbac::Account;

/// A feature that the account needs in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub namespace: String,
    pub feature: Feature,
}

/// Returns the account, and a Role and a RoleBinding of its name in each namespace. Credentials
/// are granted by a Role of their own: an account that reads secrets need not run pods.
pub fn manifest(account: &Account, grants: &[Grant]) -> Manifest {
    let mut roles: BTreeMap<(&str, &'static str), Vec<Feature>> = BTreeMap::new();
    for Grant { namespace, feature } in grants {
        let suffix = match feature {
            Feature::Credentials => "-credentials",
            _ => "",
        };
        let features = roles.entry((namespace, suffix)).or_default();
        if !features.contains(feature) {
            features.push(*feature);
        }
    }
    let mut manifest = Manifest::new().with(&account.object());
    for ((namespace, suffix), mut features) in roles {
        features.sort();
        let name = format!("{}{suffix}", account.name);
        let rules = features.iter().map(policy_rule).collect();
        manifest = manifest
            .with(&rbac::role(namespace, &name, rules))
            .with(&rbac::role_binding(namespace, &name, account));
    }
    manifest
}

fn policy_rule(feature: &Feature) -> PolicyRule {
    let rule = feature.rule();
    rbac::rule(rule.group, &[rule.resource], rule.verbs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(features: &[(&str, Feature)]) -> String {
        let account = Account::new("ci", "airside");
        let grants = features.iter().map(|(namespace, feature)| Grant {
            namespace: (*namespace).to_owned(),
            feature: *feature,
        });
        let manifest = manifest(&account, &grants.collect::<Vec<_>>());
        manifest.to_yaml().unwrap()
    }

    #[test]
    fn the_core() {
        insta::assert_snapshot!(grants(&[("ci", Feature::Core)]));
    }

    #[test]
    fn everything_in_two_namespaces() {
        insta::assert_snapshot!(grants(&[
            ("ci", Feature::Resize),
            ("ci", Feature::Core),
            ("ci", Feature::Core),
            ("ci", Feature::PullSecrets),
            ("ci", Feature::NetworkPolicies),
            ("ci-gpu", Feature::Core),
            ("airside-main", Feature::Credentials),
        ]));
    }

    #[test]
    fn nobody_looks_into_pods_by_the_api() {
        for feature in Feature::ALL {
            let resource = feature.rule().resource;
            assert!(!["pods/exec", "pods/log", "pods/attach", "*"].contains(&resource));
            assert!(!feature.rule().verbs.contains(&"*"));
        }
    }
}
