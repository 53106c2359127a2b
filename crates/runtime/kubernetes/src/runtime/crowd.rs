//! Makes room for a step that finds none: kept pods are made smaller, and go only where that helps.

use airside_model::Handle;
use airside_runtime::{Error, PlacementSpec, Shortage};

use super::KubeRuntime;
use crate::{
    pod::pod_from,
    room::{self, Plan, PodShare},
    targets::Offer,
};

impl KubeRuntime {
    pub(super) async fn clear_room(
        &self,
        spec: &PlacementSpec,
        shortage: &Shortage,
        kept: &[Handle],
    ) -> Result<Vec<Handle>, Error> {
        // How an artifact gets to the node changes nothing about what the pod asks for.
        let wanted = PodShare::of(&pod_from(spec, &self.target, Some(""))?);
        let held = self.watched.held();
        let can_shrink = self.target.offers(Offer::KeptResize);
        let shrinks = |it: &PodShare| can_shrink && self.shrunk.may_try(&it.handle);
        match room::plan(shortage, &wanted, &held, kept, shrinks) {
            Plan::Wait => Ok(Vec::new()),
            Plan::GiveUp(handles) => Ok(handles),
            Plan::Shrink(handles) => {
                for handle in &handles {
                    self.resize_down(handle).await?;
                }
                Ok(Vec::new())
            }
        }
    }
}
