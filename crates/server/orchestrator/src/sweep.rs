//! Removing what has no right to live: one function, for the loop and for the end of a build.

use std::{collections::HashMap, time::Duration};

use airside_model::{BuildId, ContainerState, Handle, VolumeId, WorkerName, chain};
use airside_runtime::Listed;
use airside_store::{Container, ContainerFilter};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{Error, Orchestrator, Result, container_ref::ContainerRef};

const EVERY: Duration = Duration::from_secs(30);

/// Number of times that everything is destroyed before the rest counts as impossible to remove.
const CLEARING: u32 = 3;

/// The sweep of one worker, decided from its containers and the store's rows.
#[derive(Debug, Default, PartialEq, Eq)]
struct SweepPlan {
    destroy: Vec<Handle>,
    /// Containers that are known, doomed, and no longer there.
    forget: Vec<Handle>,
}

/// Plans a sweep. `there` must have been listed before `known` was read: a container that is placed
/// in between is then known.
///
/// A container without a row that is leaving already was destroyed a moment ago, and is not
/// destroyed twice.
fn plan_sweep(there: &[Listed], known: &[Container]) -> SweepPlan {
    let states: HashMap<&Handle, ContainerState> = known
        .iter()
        .map(|container| (&container.handle, container.state))
        .collect();
    let doomed = |state: &ContainerState| is_doomed(*state);
    SweepPlan {
        destroy: there
            .iter()
            .filter(|listed| states.get(&listed.handle).map_or(!listed.leaving, doomed))
            .map(|listed| listed.handle.clone())
            .collect(),
        forget: states
            .iter()
            .filter(|(handle, state)| {
                doomed(state) && !there.iter().any(|listed| listed.handle == ***handle)
            })
            .map(|(handle, _)| (*handle).clone())
            .collect(),
    }
}

fn is_doomed(state: ContainerState) -> bool {
    matches!(state, ContainerState::Destroying | ContainerState::Failed)
}

impl Orchestrator {
    /// Sweeps now and then until `shutdown`.
    pub async fn sweep_forever(&self, shutdown: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            match self.parts.store.component_turn("sweeper", EVERY).await {
                Ok(true) => {}
                // An administrator has paused it.
                Ok(false) => continue,
                Err(error) => {
                    warn!(error = %chain(&error), "sweep postponed: the database does not answer");
                    continue;
                }
            }
            self.settle_if_leaving().await;
            if let Err(error) = self.collect_kept().await {
                warn!(error = %chain(&error), "kept containers not collected; the next sweep repeats it");
            }
            if let Err(error) = self.shrink_kept().await {
                warn!(error = %chain(&error), "kept containers not made smaller");
            }
            for entry in self.parts.workers.entries().iter() {
                let worker = entry.runtime.worker();
                // It has reported so itself, and could not be asked.
                if self.worker_condition(worker).stalled.is_some() {
                    continue;
                }
                if let Err(error) = self.sweep_worker(worker).await {
                    warn!(%worker, error = %chain(&error), "container sweep failed");
                }
                if let Err(error) = entry.runtime.tidy().await {
                    warn!(
                        %worker, error = %chain(&error),
                        "unused objects of steps not removed; the next sweep repeats it"
                    );
                }
            }
        }
    }

    /// Ends what was being destroyed, for a server that stops: the machine need not wait for the
    /// next start.
    pub async fn sweep_up(&self) {
        for entry in self.parts.workers.entries().iter() {
            let worker = entry.runtime.worker();
            if !entry.runtime.capabilities().mounts_volumes {
                continue;
            }
            if let Err(error) = self.sweep_worker(worker).await {
                warn!(%worker, error = %chain(&error), "containers left for the next start");
            }
        }
    }

    /// Destroys every container on every worker until there is none. Only for the end of an
    /// installation, when no server drives builds any more.
    pub async fn clear_away(&self) -> Result<()> {
        for entry in self.parts.workers.entries().iter() {
            let worker = entry.runtime.worker();
            let mut tries = 0;
            loop {
                let there = entry.runtime.list().await?.into_iter();
                let there: Vec<_> = there
                    .map(|listed| ContainerRef::unknown(worker, &listed.handle))
                    .collect();
                if there.is_empty() {
                    break;
                }
                if tries == CLEARING {
                    let handles = there
                        .iter()
                        .map(|container_ref| container_ref.handle.to_string());
                    return Err(Error::Left {
                        worker: worker.clone(),
                        handles: handles.collect::<Vec<_>>().join(", "),
                    });
                }
                self.destroy_all(there).await;
                tries += 1;
            }
        }
        Ok(())
    }

    async fn sweep_worker(&self, worker: &WorkerName) -> Result<()> {
        let Some(entry) = self.parts.workers.get(worker) else {
            return Ok(());
        };
        let there = entry.runtime.list().await?;
        let filter = ContainerFilter {
            worker: Some(worker.clone()),
            ..Default::default()
        };
        let known = self.parts.store.containers(&filter).await?;
        let plan = plan_sweep(&there, &known);
        let container_ref = |handle: &Handle| {
            let container = known.iter().find(|container| container.handle == *handle);
            container.map_or_else(|| ContainerRef::unknown(worker, handle), ContainerRef::from)
        };
        for handle in &plan.destroy {
            let container_ref = container_ref(handle);
            container_ref
                .log_decision("container without a right to live destroyed by the sweeper");
            self.destroy(&container_ref).await;
        }
        for handle in &plan.forget {
            let container_ref = container_ref(handle);
            container_ref.log_decision("missing container forgotten by the sweeper");
            self.parts.store.forget_container(handle).await?;
            container_ref.log_state("gone");
        }
        Ok(())
    }

    /// Removes the containers and volumes of a finished build, except those that are kept for
    /// people; among them those that earlier builds of its job had kept.
    pub async fn clean_up(&self, build: BuildId) -> Result<()> {
        let filter = ContainerFilter {
            build: Some(build),
            ..Default::default()
        };
        let containers = self.parts.store.containers(&filter).await?;
        let doomed: Vec<_> = containers
            .into_iter()
            .filter(|container| container.kept_at.is_none() || is_doomed(container.state))
            .collect();
        for container in &doomed {
            self.parts.store.doom_container(&container.handle).await?;
            // Kept ones have been doomed by the end of the build, the others of these just now.
            if container.kept_at.is_some() || !is_doomed(container.state) {
                ContainerRef::from(container).log_state("destroying");
            }
        }
        self.destroy_all(doomed.iter().map(ContainerRef::from).collect())
            .await;
        self.attend_kept().await?;
        self.collect_kept().await?;
        for volume in self.parts.store.volumes_of_build(build).await? {
            self.remove_volume(&volume.id).await?;
        }
        Ok(())
    }

    async fn remove_volume(&self, volume: &VolumeId) -> Result<()> {
        let (volumes, id) = (self.parts.volumes.clone(), volume.clone());
        let removed =
            airside_tasks::blocking("removal of a volume", move || volumes.remove(&id)).await;
        match removed {
            Ok(Ok(())) => self.parts.store.forget_volume(volume).await?,
            Ok(Err(error)) => warn!(%volume, error = %chain(&error), "volume not removed"),
            Err(error) => warn!(%volume, error = %chain(&error), "volume not removed"),
        }
        Ok(())
    }

    /// Destroys a container once: a caller that comes while another destroys it waits for that.
    pub(crate) async fn destroy(&self, container_ref: &ContainerRef) {
        let ContainerRef { worker, handle, .. } = container_ref;
        let destruction = self.parts.workers.destruction(handle);
        let mut destroyed = destruction.lock().await;
        if *destroyed {
            return;
        }
        // No check may begin in there, or it would wait for an answer that does not come.
        self.parts.guests.withdraw(handle);
        self.parts.hub.let_go(handle);
        if let Some(entry) = self.parts.workers.get(worker)
            && let Err(error) = entry.runtime.destroy(handle).await
        {
            return container_ref.log_failure(&error, "container not destroyed yet");
        }
        *destroyed = true;
        self.parts.workers.unwatch(handle);
        if let Err(error) = self.parts.store.forget_container(handle).await {
            return container_ref.log_failure(&error, "container not forgotten yet");
        }
        container_ref.log_state("gone");
    }
}

#[cfg(test)]
mod tests {
    use airside_model::{PlanId, StepKind, StepLabels};

    use super::*;

    fn container(handle: &str, state: ContainerState) -> Container {
        let labels = StepLabels {
            team: "main".into(),
            team_id: airside_model::TeamId(1),
            pipeline: None,
            job: None,
            build: BuildId(1),
            build_name: "1".into(),
            step: "s".into(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        };
        Container {
            handle: Handle::new(handle),
            build: BuildId(1),
            plan: PlanId::new("1"),
            attempt: 1,
            placement: 1,
            worker: WorkerName::new("w"),
            state,
            labels,
            uid: None,
            claimed_at: None,
            kept_at: None,
            hijacked_at: None,
            dir: String::new(),
            user: String::new(),
        }
    }

    #[test]
    fn only_what_has_no_right_to_live_goes() {
        let listed = |handle: &str, leaving| Listed {
            handle: Handle::new(handle),
            uid: None,
            leaving,
        };
        let there = [
            listed("creating", false),
            listed("created", false),
            listed("destroying", true),
            listed("unknown", false),
            listed("destroyed just now", true),
        ];
        let known = [
            container("creating", ContainerState::Creating),
            container("created", ContainerState::Created),
            container("destroying", ContainerState::Destroying),
            container("gone", ContainerState::Destroying),
            container("not yet there", ContainerState::Creating),
        ];
        let plan = plan_sweep(&there, &known);
        assert_eq!(plan.destroy, ["destroying", "unknown"].map(Handle::new));
        assert_eq!(plan.forget, ["gone"].map(Handle::new));
    }
}
