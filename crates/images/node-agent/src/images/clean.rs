//! The end of it on one node: no label, pin, mark or image of ours stays.

use std::collections::BTreeMap;

use tracing::{info, warn};

use super::{
    NodeAgentError, Settings,
    cluster::Cluster,
    keeper::{depart, unmark},
    marks::RuntimeLists,
};
use airside_containerd::Containerd;

/// Removes everything of the agent: labels first, so that no pod is placed by an image that goes.
/// Images stay if asked to, and where containers use them.
pub(crate) async fn clean(
    settings: &Settings,
    runtime: &Containerd,
    cluster: &Cluster,
    keep_images: bool,
) -> Result<(), NodeAgentError> {
    cluster.label(&BTreeMap::new()).await?;
    let (images, names, containers) =
        tokio::try_join!(runtime.images(), runtime.names(), runtime.containers())?;
    let lists = RuntimeLists {
        images,
        names,
        containers,
    };
    let found = lists.found();
    for id in lists.marked() {
        let image = found.iter().find(|found| found.id == id);
        let is_ours = image.is_some_and(|image| image.pulled.is_some());
        let in_use = image.is_some_and(|image| image.in_use);
        if !is_ours || keep_images || in_use {
            if is_ours && in_use && !keep_images {
                warn!(id, "image not removed: a container uses it");
            }
            unmark(runtime, &id).await?;
        } else {
            depart(runtime, &lists, &id).await?;
            info!(id, "image removed");
        }
    }
    cluster.forget().await?;
    info!(
        node = settings.node,
        "node cleaned: no image of the agent is left"
    );
    Ok(())
}
