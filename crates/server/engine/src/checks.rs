//! The engine's side of checks: it drives the builds that `airside-checks` asks for, and lets one
//! check of a resource run at a time.

use airside_checks::CheckBuilds;
use airside_model::plan::CheckPlan;
use airside_store::{Build, NewCheck};
use async_trait::async_trait;
use tokio::{sync::OwnedMutexGuard, task::JoinHandle};
use tracing::debug;

use crate::{Engine, leaf::Leaf};

#[async_trait]
impl CheckBuilds for Engine {
    async fn start_check(
        &self,
        check: NewCheck<'_>,
    ) -> Result<(Build, JoinHandle<()>), airside_store::Error> {
        let build = self.parts.store.create_check(check).await?;
        debug!(build = %build.id, "check created");
        let driven = self.spawn_driver(build.id);
        Ok((build, driven))
    }
}

impl Engine {
    /// Waits until no other build checks the resource. None for checks of no resource, and for a
    /// step that was stopped first.
    pub(crate) async fn turn_to_check(
        &self,
        leaf: Leaf<'_>,
        check: &CheckPlan,
    ) -> Option<OwnedMutexGuard<()>> {
        let pipeline = leaf.interpreter.build.pipeline?;
        if check.resource.is_empty() {
            return None;
        }
        let turn = self.parts.checking.of((pipeline, check.resource.clone()));
        let stop = leaf.context.stop.token();
        stop.run_until_cancelled(turn.lock_owned()).await
    }
}
