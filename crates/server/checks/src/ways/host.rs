//! Containers with the image of a resource type that many checks share.

use std::time::Duration;

use airside_model::{PlanNode, plan::TypeImage};
use airside_orchestrator::StepRequest;
use airside_runtime::Image;
use serde_json::{Value, json};

use super::CheckWays;

/// Interval at which the version of an image is looked up again, unless its type sets another.
pub const IMAGE_INTERVAL: Duration = Duration::from_secs(60);

/// A container that is offered to checks: its name says whose it is, where, and what is in it.
pub struct SharedHost {
    pub name: String,
    /// Time for which the container is offered; none while the server runs.
    pub lifetime: Option<Duration>,
}

impl CheckWays {
    /// Returns the container that a step's check may share. None if the check needs a container of
    /// its own because the image may change under its name. `fixed` identifies an image that never
    /// changes.
    pub fn shared_host(
        &self,
        team: &str,
        request: &StepRequest,
        type_: &TypeImage,
        fixed: Option<Value>,
    ) -> Option<SharedHost> {
        let worker = self.orchestrator.worker_for(team, &request.tags)?;
        let is_here = self.orchestrator.capabilities(&worker)?.mounts_volumes;
        let (image, lifetime) = match fixed {
            Some(image) => (image, None),
            None if is_here => return None,
            None => changing(&request.image, type_)?,
        };
        let name = json!([team, worker, image, request.privileged, request.user]);
        Some(SharedHost {
            name: name.to_string(),
            lifetime,
        })
    }
}

/// Identifies an image on a node that may change. The administrator's host image is the same while
/// the server runs, and a tag is used until its version would be looked up again.
fn changing(image: &Image, type_: &TypeImage) -> Option<(Value, Option<Duration>)> {
    match image {
        Image::Host => Some((json!("host"), None)),
        Image::Registry { reference, .. } => {
            let interval = match type_.check_plan.as_ref().map(|plan| &plan.node) {
                Some(PlanNode::Check(check)) => check.interval.as_str(),
                _ => "",
            };
            let lifetime = match interval {
                "never" => None,
                text => Some(airside_config::parse_duration(text).unwrap_or(IMAGE_INTERVAL)),
            };
            Some((json!({"tag": reference}), lifetime))
        }
        _ => None,
    }
}
