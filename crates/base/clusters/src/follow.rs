//! A watch whose objects are kept in memory.

use std::{fmt, hash::Hash, sync::Arc};

use airside_model::chain;
use futures::StreamExt as _;
use kube::{
    Api, Resource, ResourceExt as _,
    runtime::{WatchStreamExt as _, reflector, reflector::Store, watcher},
};
use serde::de::DeserializeOwned;
use tokio::{sync::Notify, task::JoinSet};

/// Watches all objects of an [`Api`], notifies `changed` whenever one of them changes, and returns
/// the memory in which they are. The watch ends with `tasks`.
///
/// Objects come without their managed fields, which are most of an object.
pub fn follow<K>(
    api: Api<K>,
    what: &'static str,
    changed: &Arc<Notify>,
    tasks: &mut JoinSet<()>,
) -> Store<K>
where
    K: Resource + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone + Send + Sync,
{
    let (store, writer) = reflector::store();
    let changed = changed.clone();
    let events = watcher(api, watcher::Config::default())
        .default_backoff()
        .modify(|object| object.managed_fields_mut().clear())
        .reflect(writer);
    let following = async move {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(_) => changed.notify_one(),
                Err(error) => {
                    tracing::warn!(error = %chain(&error), what, "watch failed");
                }
            }
        }
    };
    tasks.spawn(airside_tasks::named("watch of a cluster", following));
    store
}
