//! What `fly execute` uploads and downloads. The routes that carry it come with `fly execute`.

use airside_model::PlanNode;

use crate::{Result, leaf::Leaf, status::Status};

pub(crate) async fn run(leaf: Leaf<'_>, node: &PlanNode) -> Result<Status> {
    let name = node.name();
    leaf.error(format!(
        "`{name}` is not supported by this version of Airside"
    ))
    .await
}
