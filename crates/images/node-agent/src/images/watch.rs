//! Watches of the sets and of this node. Nothing is known before both were listed, nor after the
//! node's object is gone: then the agent does nothing.

use std::{collections::BTreeMap, pin::pin};

use airside_image_rules::{ImageSet, label};
use airside_model::chain;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use tokio::sync::watch;
use tracing::{info, warn};

use super::wanted::{DesiredPull, wanted};

/// The fields of this node's object that the agent uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeView {
    pub(crate) uid: String,
    pub(crate) boot_id: String,
    /// Labels of the node with our prefix.
    pub(crate) labels: BTreeMap<String, String>,
    /// The kubelet says that its disk is full.
    pub(crate) pressure: bool,
}

/// Desired state of the node, and the node as it was observed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DesiredState {
    pub(crate) node: NodeView,
    pub(crate) wants: Vec<DesiredPull>,
}

pub(crate) fn view(node: &Node) -> NodeView {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let info = status.and_then(|status| status.node_info.as_ref());
    NodeView {
        uid: node.uid().unwrap_or_default(),
        boot_id: info.map(|info| info.boot_id.clone()).unwrap_or_default(),
        labels: node
            .labels()
            .iter()
            .filter(|(key, _)| label::is_ours(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        pressure: conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == "DiskPressure" && condition.status == "True"),
    }
}

/// Objects by name, as a watch tells them; a new list replaces the old one when it is whole.
struct Objects<K> {
    listed: Option<BTreeMap<String, K>>,
    coming: BTreeMap<String, K>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self {
            listed: None,
            coming: BTreeMap::new(),
        }
    }
}

impl<K: kube::Resource> Objects<K> {
    fn take(&mut self, event: Event<K>) {
        let name = |object: &K| {
            let namespace = object.namespace().unwrap_or_default();
            format!("{namespace}/{}", object.name_any())
        };
        let bare = |mut object: K| {
            object.meta_mut().managed_fields = None;
            object
        };
        match event {
            Event::Init => self.coming.clear(),
            Event::InitApply(object) => drop(self.coming.insert(name(&object), bare(object))),
            Event::InitDone => self.listed = Some(std::mem::take(&mut self.coming)),
            Event::Apply(object) => {
                if let Some(listed) = &mut self.listed {
                    listed.insert(name(&object), bare(object));
                }
            }
            Event::Delete(object) => {
                if let Some(listed) = &mut self.listed {
                    listed.remove(&name(&object));
                }
            }
        }
    }
}

/// Follows both for ever, and tells only what changes something.
pub(crate) async fn follow(
    client: Client,
    node: String,
    known: watch::Sender<Option<DesiredState>>,
) {
    let sets = Api::<ImageSet>::all(client.clone());
    let mut set_events = pin!(watcher::watcher(sets, watcher::Config::default()).default_backoff());
    let this = watcher::Config::default().fields(&format!("metadata.name={node}"));
    let nodes = Api::<Node>::all(client);
    let mut node_events = pin!(watcher::watcher(nodes, this).default_backoff());
    let (mut sets, mut nodes) = (Objects::<ImageSet>::default(), Objects::<Node>::default());
    let (mut sets_away, mut node_away) = (false, false);
    loop {
        let is_heard = tokio::select! {
            heard = hear(&mut set_events, &mut sets, &mut sets_away) => heard,
            heard = hear(&mut node_events, &mut nodes, &mut node_away) => heard,
        };
        if !is_heard {
            return;
        }
        let node = nodes
            .listed
            .as_ref()
            .and_then(|nodes| nodes.values().next());
        let now = node
            .zip(sets.listed.as_ref())
            .map(|(node, sets)| DesiredState {
                node: view(node),
                wants: wanted(sets.values(), node),
            });
        known.send_if_modified(|before| {
            let is_new = *before != now;
            *before = now;
            is_new
        });
    }
}

async fn hear<K: kube::Resource>(
    events: &mut (impl Stream<Item = watcher::Result<Event<K>>> + Unpin),
    objects: &mut Objects<K>,
    away: &mut bool,
) -> bool {
    match events.next().await {
        None => return false,
        Some(Ok(event)) => {
            if !matches!(event, Event::Init) && std::mem::take(away) {
                info!("connection to the API server restored");
            }
            objects.take(event);
        }
        Some(Err(error)) => {
            if !std::mem::replace(away, true) {
                warn!(
                    error = %chain(&error),
                    "watch of the API server failed; the last known state still counts"
                );
            }
        }
    }
    true
}
