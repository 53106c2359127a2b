//! Liveness of node agents, by this process's own clock: by the time at which it saw their
//! heartbeats change.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use airside_image_rules::{NodeImages, label};
use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::Time};
use kube::ResourceExt as _;

use crate::world::ClusterSnapshot;

/// Observations of each node's agent.
#[derive(Debug)]
pub(crate) struct Agents {
    patience: Duration,
    seen: BTreeMap<String, ObservedHeartbeat>,
}

#[derive(Debug)]
struct ObservedHeartbeat {
    /// Last heartbeat; none while there was never one.
    heartbeat: Option<Time>,
    at: Instant,
}

impl Agents {
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            patience,
            seen: BTreeMap::new(),
        }
    }

    /// Records heartbeats. A node that is seen for the first time counts as one whose agent has
    /// just reported.
    pub(crate) fn observe(&mut self, moment: &ClusterSnapshot, now: Instant) {
        let nodes: BTreeSet<String> = moment.nodes.iter().map(|node| node.name_any()).collect();
        self.seen.retain(|node, _| nodes.contains(node));
        for node in nodes {
            let heartbeat = heartbeat(moment.node_images.get(&node));
            match self.seen.get_mut(&node) {
                Some(seen) if seen.heartbeat == heartbeat => {}
                _ => drop(
                    self.seen
                        .insert(node, ObservedHeartbeat { heartbeat, at: now }),
                ),
            }
        }
    }

    /// Returns true if the node's agent has reported lately.
    pub(crate) fn is_alive(&self, node: &str, now: Instant) -> bool {
        self.seen.get(node).is_some_and(|seen| {
            seen.heartbeat.is_some() && now.saturating_duration_since(seen.at) < self.patience
        })
    }

    /// Returns true if the node's labels may be wrong, because its agent is silent.
    pub(crate) fn is_dead(&self, node: &str, now: Instant) -> bool {
        let seen = self.seen.get(node);
        seen.is_some_and(|seen| now.saturating_duration_since(seen.at) >= self.patience)
    }

    /// Returns the time at which the next agent could turn out to be dead.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let ends = self
            .seen
            .values()
            .map(|seen| airside_model::deadline_after(seen.at, self.patience));
        ends.filter(|end| *end > now).min()
    }

    /// Returns labels that no living agent keeps, by nodes.
    pub(crate) fn lies(&self, nodes: &[Arc<Node>], now: Instant) -> Vec<(String, Vec<String>)> {
        let lies = nodes.iter().filter_map(|node| {
            let keys: Vec<String> = node
                .labels()
                .keys()
                .filter(|key| label::is_ours(key))
                .cloned()
                .collect();
            let is_lie = !keys.is_empty() && self.is_dead(&node.name_any(), now);
            is_lie.then(|| (node.name_any(), keys))
        });
        lies.collect()
    }
}

fn heartbeat(images: Option<&Arc<NodeImages>>) -> Option<Time> {
    images?.status.as_ref()?.heartbeat.clone()
}

/// Returns true if the kubelet reports the node as ready.
pub(crate) fn is_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it.type_ == "Ready" && it.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moment(heartbeats: &[(&str, Option<&str>)]) -> ClusterSnapshot {
        let node = |name: &str| -> Arc<Node> {
            let key = format!("{}x", label::PREFIX);
            Arc::new(
                serde_json::from_value(
                    json!({"metadata": {"name": name, "labels": {key: "present", "a": "b"}}}),
                )
                .unwrap(),
            )
        };
        let images = |name: &str, heartbeat: &str| -> Arc<NodeImages> {
            Arc::new(
                serde_json::from_value(json!({
                    "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages",
                    "metadata": {"name": name}, "spec": {}, "status": {"heartbeat": heartbeat},
                }))
                .unwrap(),
            )
        };
        ClusterSnapshot {
            sets: vec![],
            nodes: heartbeats.iter().map(|(name, _)| node(name)).collect(),
            node_images: heartbeats
                .iter()
                .filter_map(|(name, beat)| Some(((*name).to_owned(), images(name, (*beat)?))))
                .collect(),
        }
    }

    #[test]
    fn silence_is_measured_by_our_own_clock() {
        let (start, seconds) = (Instant::now(), Duration::from_secs);
        let mut agents = Agents::new(seconds(90));
        // The agents' own clocks may be anywhere.
        let first = moment(&[("a", Some("2001-01-01T00:00:00Z")), ("b", None)]);
        agents.observe(&first, start);
        assert!(agents.is_alive("a", start) && !agents.is_alive("b", start));
        assert!(!agents.is_dead("b", start), "it may come yet");
        agents.observe(&first, start + seconds(60));
        assert!(agents.is_alive("a", start + seconds(89)));
        assert!(agents.is_dead("a", start + seconds(90)));
        let lies = agents.lies(&first.nodes, start + seconds(90));
        assert_eq!(
            lies,
            [("a", ()), ("b", ())]
                .map(|(name, ())| (name.to_owned(), vec![format!("{}x", label::PREFIX)]))
        );
        let second = moment(&[("a", Some("2001-01-01T00:00:30Z")), ("b", None)]);
        agents.observe(&second, start + seconds(95));
        assert!(agents.is_alive("a", start + seconds(100)));
        assert_eq!(
            agents.next(start + seconds(100)),
            Some(start + seconds(185))
        );
        agents.observe(&moment(&[]), start + seconds(100));
        assert!(
            !agents.is_dead("a", start + seconds(1000)),
            "a node that is gone has no labels"
        );
    }
}
