//! Watches of the sets and of this node. Nothing is known before both were listed, nor after the
//! node's object is gone: then the agent does nothing.

use std::{collections::BTreeMap, fmt, hash::Hash, pin::pin, sync::Arc};

use airside_image_rules::{ImageSet, label};
use airside_model::chain;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Resource, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        reflector::{
            self,
            store::{Store, Writer},
        },
        watcher::{self, Event},
    },
};
use serde::de::DeserializeOwned;
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

/// Objects of one watch. A new list replaces the old one when it is whole.
struct Reflected<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    store: Store<K>,
    writer: Writer<K>,
    is_listed: bool,
    /// The API server did not answer the last time.
    is_away: bool,
}

impl<K> Reflected<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    fn new() -> Self {
        let (store, writer) = reflector::store();
        Self {
            store,
            writer,
            is_listed: false,
            is_away: false,
        }
    }

    fn apply(&mut self, event: &Event<K>) {
        self.writer.apply_watcher_event(event);
        self.is_listed |= matches!(event, Event::InitDone);
    }

    /// Returns all objects by namespace and name; `None` before the first list was whole.
    fn objects(&self) -> Option<Vec<Arc<K>>> {
        let mut objects = self.store.state();
        objects.sort_by_key(|object| (object.namespace(), object.name_any()));
        self.is_listed.then_some(objects)
    }

    /// Waits for one event of the watch. Returns false if the watch has ended.
    async fn next(
        &mut self,
        events: &mut (impl Stream<Item = watcher::Result<Event<K>>> + Unpin),
    ) -> bool {
        match events.next().await {
            None => return false,
            Some(Ok(event)) => {
                if !matches!(event, Event::Init) && std::mem::take(&mut self.is_away) {
                    info!("connection to the API server restored");
                }
                self.apply(&event);
            }
            Some(Err(error)) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    warn!(
                        error = %chain(&error),
                        "watch of the API server failed; the last known state still counts"
                    );
                }
            }
        }
        true
    }
}

/// Returns a watch without the fields that only other writers read.
fn events<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource + Clone + fmt::Debug + DeserializeOwned + Send + 'static,
{
    watcher::watcher(api, config)
        .default_backoff()
        .modify(|object| object.managed_fields_mut().clear())
}

/// Follows the sets and this node for ever, and publishes only what changes something.
pub(crate) async fn follow(
    client: Client,
    node: String,
    known: watch::Sender<Option<DesiredState>>,
) {
    let all = Api::<ImageSet>::all(client.clone());
    let mut set_events = pin!(events(all, watcher::Config::default()));
    let this = watcher::Config::default().fields(&format!("metadata.name={node}"));
    let mut node_events = pin!(events(Api::<Node>::all(client), this));
    let (mut sets, mut nodes) = (Reflected::new(), Reflected::new());
    loop {
        let is_followed = tokio::select! {
            is_followed = sets.next(&mut set_events) => is_followed,
            is_followed = nodes.next(&mut node_events) => is_followed,
        };
        if !is_followed {
            return;
        }
        let node = nodes.objects().and_then(|nodes| nodes.into_iter().next());
        let now = node.zip(sets.objects()).map(|(node, sets)| DesiredState {
            node: view(&node),
            wants: wanted(sets.iter().map(Arc::as_ref), &node),
        });
        known.send_if_modified(|before| {
            let is_new = *before != now;
            *before = now;
            is_new
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(name.to_owned());
        node
    }

    fn names(reflected: &Reflected<Node>) -> Option<Vec<String>> {
        let objects = reflected.objects()?;
        Some(objects.iter().map(|node| node.name_any()).collect())
    }

    #[test]
    fn a_list_counts_once_it_is_whole() {
        let mut nodes = Reflected::new();
        nodes.apply(&Event::Init);
        nodes.apply(&Event::InitApply(node("b")));
        assert_eq!(names(&nodes), None);
        nodes.apply(&Event::InitApply(node("a")));
        nodes.apply(&Event::InitDone);
        assert_eq!(names(&nodes), Some(vec!["a".to_owned(), "b".to_owned()]));
        nodes.apply(&Event::Delete(node("a")));
        assert_eq!(names(&nodes), Some(vec!["b".to_owned()]));
        // The old list counts until the next one is whole.
        nodes.apply(&Event::Init);
        nodes.apply(&Event::InitApply(node("c")));
        assert_eq!(names(&nodes), Some(vec!["b".to_owned()]));
        nodes.apply(&Event::InitDone);
        assert_eq!(names(&nodes), Some(vec!["c".to_owned()]));
    }
}
