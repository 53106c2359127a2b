//! The rights that control needs, and the roles that administrators give to people.
//!
//! Preflight asks for the same rights one by one, so that printed and requested rights are the
//! same. Never a secret, never a pod, nothing of the whole cluster.

use airside_control_objects::GROUP;
use airside_kube_objects::rbac;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};

/// The verbs that the server needs on one kind of object in a team's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRight {
    pub group: &'static str,
    /// With its subresource, if the right is about one.
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
}

/// All rights of the server in a team's namespace.
pub const CONTROL_RIGHTS: [ControlRight; 7] = [
    objects("pipelines"),
    objects("pipelinejobs"),
    objects("pipelinebuilds"),
    status("pipelines/status"),
    status("pipelinejobs/status"),
    status("pipelinebuilds/status"),
    ControlRight {
        group: "",
        resource: "events",
        verbs: &["create"],
    },
];

const fn objects(resource: &'static str) -> ControlRight {
    ControlRight {
        group: GROUP,
        resource,
        verbs: &["list", "watch", "create", "patch", "delete"],
    }
}

const fn status(resource: &'static str) -> ControlRight {
    ControlRight {
        group: GROUP,
        resource,
        verbs: &["patch"],
    }
}

/// Returns the rules of the server's own Role.
pub(crate) fn server_rules() -> Vec<PolicyRule> {
    let rule = |right: &ControlRight| rbac::rule(right.group, &[right.resource], right.verbs);
    CONTROL_RIGHTS.iter().map(rule).collect()
}

/// Returns the roles for people: to view, to operate and to edit. Aggregated, every user who can
/// view a namespace by the cluster's own role `view` can view its pipelines, and `edit` can change
/// them.
pub(crate) fn roles_of_people(is_aggregated: bool) -> [ClusterRole; 3] {
    let kinds = ["pipelines", "pipelinejobs", "pipelinebuilds"];
    let view = rbac::rule(GROUP, &kinds, &["get", "list", "watch"]);
    let operate = [
        rbac::rule(GROUP, &["pipelinebuilds"], &["create", "patch"]),
        rbac::rule(GROUP, &["pipelinejobs"], &["patch"]),
    ];
    let edit = rbac::rule(
        GROUP,
        &["pipelines"],
        &["create", "patch", "update", "delete"],
    );
    let operating = [vec![view.clone()], operate.to_vec()].concat();
    let editing = [operating.clone(), vec![edit]].concat();
    let role = |name: &str, into: &str, rules| {
        let mut role = rbac::cluster_role(name, rules);
        if is_aggregated {
            let key = format!("rbac.authorization.k8s.io/aggregate-to-{into}");
            role.metadata.labels = Some([(key, "true".to_owned())].into());
        }
        role
    };
    [
        role("airside-ci-view", "view", vec![view]),
        role("airside-ci-operate", "edit", operating),
        role("airside-ci-edit", "edit", editing),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_reads_no_secret_and_no_pod() {
        for right in CONTROL_RIGHTS {
            assert!(["", GROUP].contains(&right.group), "{right:?}");
            assert!(
                right.group == GROUP || right.resource == "events",
                "{right:?}"
            );
            assert!(!right.verbs.contains(&"*"), "{right:?}");
        }
    }
}
