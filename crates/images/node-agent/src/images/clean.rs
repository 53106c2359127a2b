//! The end of it on one node: no label, pin, mark or image of ours stays.

use std::collections::BTreeMap;

use tracing::{info, warn};

use super::{
    AgentError, Settings,
    cluster::Cluster,
    keeper::{depart, unmark},
    marks::Lists,
};
use airside_containerd::Runtime;

/// Labels first, so that no pod is placed by what goes. Images stay if asked to, and where containers use them.
pub(crate) async fn clean(
    settings: &Settings,
    runtime: &Runtime,
    cluster: &Cluster,
    keep_images: bool,
) -> Result<(), AgentError> {
    cluster.label(&BTreeMap::new()).await?;
    let (images, names, containers) =
        tokio::try_join!(runtime.images(), runtime.names(), runtime.containers())?;
    let lists = Lists {
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
                warn!(id, "an image stays: a container uses it");
            }
            unmark(runtime, &id).await?;
        } else {
            depart(runtime, &lists, &id).await?;
            info!(id, "removed");
        }
    }
    cluster.forget().await?;
    info!(node = settings.node, "nothing of ours is left");
    Ok(())
}
