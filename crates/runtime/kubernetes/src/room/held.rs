//! The share that one pod takes of its node and of its namespace's quota.

use std::collections::BTreeMap;

use airside_model::Handle;
use k8s_openapi::{
    api::core::v1::{Container, Pod, PodSpec, Toleration},
    apimachinery::pkg::api::resource::Quantity,
};
use serde_json::{Value, json};

use crate::targets::quantity::thousandths;

/// Resources by their names, in thousandths of one.
pub(crate) type Amounts = BTreeMap<String, i128>;

/// A pod, as far as room is concerned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodShare {
    pub(crate) handle: Handle,
    pub(crate) node: Option<String>,
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
    /// True if the pod is being deleted: what it takes will be free soon.
    pub(crate) leaving: bool,
    node_selector: BTreeMap<String, String>,
    /// The affinity to nodes that it needs, and not only prefers.
    required: Value,
    tolerations: Vec<Toleration>,
}

impl PodShare {
    pub(crate) fn of(pod: &Pod) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
        for container in lasting(&spec) {
            let resources = container.resources.clone().unwrap_or_default();
            add(&mut requests, resources.requests);
            add(&mut limits, resources.limits);
        }
        let affinity = spec.affinity.and_then(|it| it.node_affinity);
        let required =
            affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution);
        let own = |it: &Toleration| !is_everybodys(it);
        Self {
            handle: Handle(pod.metadata.name.clone().unwrap_or_default()),
            node: spec.node_name,
            requests,
            limits,
            leaving: pod.metadata.deletion_timestamp.is_some(),
            node_selector: spec.node_selector.unwrap_or_default(),
            required: json!(required),
            tolerations: spec.tolerations.into_iter().flatten().filter(own).collect(),
        }
    }

    /// Returns true if the node that this pod is on could take the other, as far as pods say
    /// themselves: it is asked for at least as narrowly, and for nothing that the other does not
    /// tolerate.
    pub(crate) fn shows_a_place_for(&self, wanted: &Self) -> bool {
        let mut selected = wanted.node_selector.iter();
        let bears = |it: &Toleration| wanted.tolerations.contains(it);
        selected.all(|(key, value)| self.node_selector.get(key) == Some(value))
            && (wanted.required.is_null() || wanted.required == self.required)
            && self.tolerations.iter().all(bears)
    }
}

/// The containers that run side by side.
fn lasting(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    let sidecar = |it: &&Container| it.restart_policy.as_deref() == Some("Always");
    let inits = spec.init_containers.iter().flatten().filter(sidecar);
    spec.containers.iter().chain(inits)
}

fn add(amounts: &mut Amounts, more: Option<BTreeMap<String, Quantity>>) {
    for (name, Quantity(text)) in more.into_iter().flatten() {
        *amounts.entry(name).or_default() += thousandths(&text).unwrap_or_default();
    }
}

/// Kubernetes gives these to every pod.
fn is_everybodys(toleration: &Toleration) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    key.starts_with("node.kubernetes.io/")
}
