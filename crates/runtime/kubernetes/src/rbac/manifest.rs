//! Rights as YAML for `kubectl apply`.

use std::collections::BTreeMap;

use super::{Feature, Rule};

/// Whose rights they are: a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub namespace: String,
}

/// What the account needs in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub namespace: String,
    pub feature: Feature,
}

/// The account, and a Role and a RoleBinding of its name in each namespace. What is granted in another
/// namespace for credentials is a Role of its own: whoever reads secrets need not run pods.
pub fn manifests(account: &Account, grants: &[Grant]) -> String {
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
    let mut documents = vec![service_account(account)];
    for ((namespace, suffix), mut features) in roles {
        features.sort();
        let name = format!("{}{suffix}", account.name);
        documents.push(role(&name, namespace, &features));
        documents.push(binding(&name, namespace, account));
    }
    documents.join("---\n")
}

fn service_account(Account { name, namespace }: &Account) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
    )
}

fn role(name: &str, namespace: &str, features: &[Feature]) -> String {
    let rules: String = features
        .iter()
        .map(|feature| rule(feature.rule()))
        .collect();
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {name}\n  \
         namespace: {namespace}\nrules:\n{rules}"
    )
}

fn rule(rule: Rule) -> String {
    format!(
        "- apiGroups: [{:?}]\n  resources: [{:?}]\n  verbs: [{}]\n",
        rule.group,
        rule.resource,
        rule.verbs.join(", ")
    )
}

fn binding(name: &str, namespace: &str, account: &Account) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: {name}\n  \
         namespace: {namespace}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  \
         name: {name}\nsubjects:\n- kind: ServiceAccount\n  name: {}\n  namespace: {}\n",
        account.name, account.namespace
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(features: &[(&str, Feature)]) -> String {
        let account = Account {
            name: "airside".to_owned(),
            namespace: "ci".to_owned(),
        };
        let grants = features.iter().map(|(namespace, feature)| Grant {
            namespace: (*namespace).to_owned(),
            feature: *feature,
        });
        manifests(&account, &grants.collect::<Vec<_>>())
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
