//! The observed cluster: kept up to date by watches, read from memory.

use std::{collections::BTreeMap, sync::Arc};

use airside_clusters::follow;
use airside_image_rules::{ImageSet, NodeImages};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, runtime::reflector::Store};
use tokio::{sync::Notify, task::JoinSet};

#[derive(Clone)]
pub(crate) struct ObservedCluster {
    sets: Store<ImageSet>,
    nodes: Store<Node>,
    node_images: Store<NodeImages>,
}

/// One moment of it.
pub(crate) struct ClusterSnapshot {
    /// Image sets, sorted by namespace and name.
    pub(crate) sets: Vec<Arc<ImageSet>>,
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) node_images: BTreeMap<String, Arc<NodeImages>>,
}

impl ObservedCluster {
    /// Watches, and says whenever something has changed. It knows everything when this returns.
    pub(crate) async fn watch(
        client: &Client,
        changed: &Arc<Notify>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let world = Self {
            sets: follow(Api::all(client.clone()), "ImageSets", changed, tasks),
            nodes: follow::<Node>(Api::all(client.clone()), "Nodes", changed, tasks),
            node_images: follow(Api::all(client.clone()), "NodeImages", changed, tasks),
        };
        // A writer is dropped only with its task, which ends with this process.
        let _ = world.sets.wait_until_ready().await;
        let _ = world.nodes.wait_until_ready().await;
        let _ = world.node_images.wait_until_ready().await;
        world
    }

    pub(crate) fn now(&self) -> ClusterSnapshot {
        let mut sets = self.sets.state();
        sets.sort_by_key(|set| (set.namespace(), set.name_any()));
        let mut nodes = self.nodes.state();
        nodes.sort_by_key(|node| node.name_any());
        let node_images = self.node_images.state();
        ClusterSnapshot {
            sets,
            nodes,
            node_images: node_images
                .into_iter()
                .map(|it| (it.name_any(), it))
                .collect(),
        }
    }
}
