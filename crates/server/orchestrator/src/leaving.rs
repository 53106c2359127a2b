//! Workers that leave and come back: landing, retiring, pruning, registering again.
//!
//! The store has the truth; [`States`] is a copy of it for the choice of a worker. A worker that
//! leaves gets no new step from the moment it was asked to, and is landed or gone once its steps
//! are done.

use std::collections::HashMap;

use airside_model::{WorkerName, WorkerState, chain};
use airside_store::{ContainerFilter, WorkerArrival, WorkerChange, WorkerChanged, WorkerKind};
use parking_lot::Mutex;
use tokio::sync::{RwLock, RwLockReadGuard, watch};
use tracing::{info, warn};

use crate::{Orchestrator, Result};

/// The state of each worker. One without a row in the store is running.
#[derive(Default)]
pub(crate) struct States {
    known: Mutex<HashMap<WorkerName, WorkerState>>,
    /// Lock that is shared while a placement is stored, and taken alone to change a state.
    gate: RwLock<()>,
    changed: watch::Sender<()>,
}

impl States {
    pub(crate) fn of(&self, worker: &WorkerName) -> WorkerState {
        let known = self.known.lock().get(worker).copied();
        known.unwrap_or(WorkerState::Running)
    }

    /// Returns the changes from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Keeps every state as it is.
    pub(crate) async fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().await
    }

    fn is_any_leaving(&self) -> bool {
        let leaving = [WorkerState::Landing, WorkerState::Retiring];
        let known = self.known.lock();
        known.values().any(|state| leaving.contains(state))
    }

    /// Wakes the steps that wait for a worker: a state has changed.
    pub(crate) fn tell(&self) {
        self.changed.send_replace(());
    }

    fn learn(&self, states: Vec<(WorkerName, WorkerState)>) {
        *self.known.lock() = states.into_iter().collect();
        self.tell();
    }
}

impl Orchestrator {
    /// Does what an operator asks of a worker.
    pub async fn change_worker(
        &self,
        worker: &WorkerName,
        change: WorkerChange,
    ) -> Result<WorkerChanged> {
        let states = self.parts.workers.states();
        // In the store the worker runs, and it does not answer: an administrator who wants it gone
        // may have that.
        let stalled = self.worker_condition(worker).stalled.is_some();
        let change = match change {
            WorkerChange::Prune if stalled => WorkerChange::Delete,
            other => other,
        };
        let changed = {
            let _gate = states.gate.write().await;
            let changed = self.parts.store.change_worker(worker, change).await?;
            states.learn(self.parts.store.worker_states().await?);
            changed
        };
        let state = states.of(worker);
        info!(%worker, ?change, ?changed, %state, "worker changed by an administrator");
        self.settle_workers().await?;
        Ok(changed)
    }

    /// Takes a worker's settings as they are now, and returns its state. Whether it takes steps
    /// stays as it was, also for a worker that comes for the first time.
    pub async fn configure_worker(
        &self,
        worker: &WorkerName,
        team: Option<&str>,
        tags: &[String],
    ) -> Result<WorkerState> {
        let (states, store) = (self.parts.workers.states(), &self.parts.store);
        let _gate = states.gate.write().await;
        let kind = WorkerKind::Kubernetes;
        let state = store.register_worker(worker, team, tags, kind).await?;
        states.learn(store.worker_states().await?);
        Ok(state)
    }

    /// Takes an agent's settings as [`Self::configure_worker`] does. An agent that was started just
    /// now takes steps again.
    pub async fn welcome_agent(
        &self,
        worker: &WorkerName,
        team: Option<&str>,
        tags: &[String],
        arrival: WorkerArrival,
    ) -> Result<WorkerState> {
        let (states, store) = (self.parts.workers.states(), &self.parts.store);
        let _gate = states.gate.write().await;
        let kind = WorkerKind::Agent;
        let registered = store.register_arrival(worker, team, tags, kind, arrival);
        let state = registered.await?;
        states.learn(store.worker_states().await?);
        Ok(state)
    }

    /// Forgets a worker that is gone, unless something of it is left. `false`: it is not done yet.
    pub async fn forget_worker(&self, worker: &WorkerName) -> Result<bool> {
        let (states, store) = (self.parts.workers.states(), &self.parts.store);
        let filter = ContainerFilter {
            worker: Some(worker.clone()),
            ..ContainerFilter::default()
        };
        let _gate = states.gate.write().await;
        if states.of(worker) != WorkerState::Retired || !store.containers(&filter).await?.is_empty()
        {
            return Ok(false);
        }
        store.forget_worker(worker).await?;
        states.learn(store.worker_states().await?);
        Ok(true)
    }

    /// Reads the workers' states from the store, and lands or retires those that are done. To be
    /// called before the first step.
    pub async fn settle_workers(&self) -> Result<()> {
        let (states, store) = (self.parts.workers.states(), &self.parts.store);
        let _gate = states.gate.write().await;
        for (worker, state) in store.settle_workers().await? {
            info!(%worker, %state, "no step runs on a worker that leaves");
        }
        states.learn(store.worker_states().await?);
        Ok(())
    }

    /// Lands or retires workers that are done, if any worker is leaving. The next sweep repeats
    /// what fails.
    pub(crate) async fn settle_if_leaving(&self) {
        if self.parts.workers.states().is_any_leaving()
            && let Err(error) = self.settle_workers().await
        {
            warn!(error = %chain(&error), "leaving workers not settled; the next sweep repeats it");
        }
    }
}
