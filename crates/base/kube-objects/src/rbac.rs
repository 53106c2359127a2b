//! Service accounts, roles and bindings.

use k8s_openapi::api::{
    core::v1::ServiceAccount,
    rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject},
};

use crate::{
    meta::{cluster_wide, namespaced},
    strings,
};

/// API group of roles and bindings.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Name and namespace of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub namespace: String,
}

impl Account {
    /// Returns the account of a name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        }
    }

    /// The name under which the API server knows requests of this account.
    pub fn user_name(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The account as an object.
    pub fn object(&self) -> ServiceAccount {
        ServiceAccount {
            metadata: namespaced(&self.namespace, &self.name),
            ..ServiceAccount::default()
        }
    }

    fn subjects(&self) -> Option<Vec<Subject>> {
        Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: self.name.clone(),
            namespace: Some(self.namespace.clone()),
            api_group: None,
        }])
    }
}

/// A rule about all objects of some kinds.
pub fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(strings(&[group])),
        resources: Some(strings(resources)),
        verbs: strings(verbs),
        ..PolicyRule::default()
    }
}

/// A rule about one object, by its name.
pub fn rule_for(name: &str, group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        resource_names: Some(strings(&[name])),
        ..rule(group, &[resource], verbs)
    }
}

/// Rights in one namespace.
pub fn role(namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Role {
    Role {
        metadata: namespaced(namespace, name),
        rules: Some(rules),
    }
}

/// Rights in the whole cluster, or in each namespace that a RoleBinding names.
pub fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole {
        metadata: cluster_wide(name),
        rules: Some(rules),
        ..ClusterRole::default()
    }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: Some(RBAC_GROUP.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

/// Gives the Role of the same name and namespace to an account.
pub fn role_binding(namespace: &str, name: &str, account: &Account) -> RoleBinding {
    RoleBinding {
        metadata: namespaced(namespace, name),
        role_ref: role_ref("Role", name),
        subjects: account.subjects(),
    }
}

/// Gives the ClusterRole of the same name to an account, in one namespace alone.
pub fn cluster_role_in(namespace: &str, name: &str, account: &Account) -> RoleBinding {
    RoleBinding {
        role_ref: role_ref("ClusterRole", name),
        ..role_binding(namespace, name, account)
    }
}

/// Gives the ClusterRole of the same name to an account, in the whole cluster.
pub fn cluster_role_binding(name: &str, account: &Account) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: cluster_wide(name),
        role_ref: role_ref("ClusterRole", name),
        subjects: account.subjects(),
    }
}
