//! Agents as workers of this server.

use airside_agents::{AdmissionError, AgentOffer, WorkerRegister};
use airside_model::{WorkerState, chain};
use airside_orchestrator::{Orchestrator, WorkerEntry};
use airside_protocol::AgentArrival;
use airside_store::WorkerKind;
use async_trait::async_trait;
use tracing::warn;

pub(crate) struct WorkerHall(pub(crate) Orchestrator);

impl WorkerHall {
    /// Adds the agent to the workers that steps are placed on.
    pub(crate) fn join(&self, offer: &AgentOffer) {
        self.0.workers().join(WorkerEntry {
            runtime: offer.runtime.clone(),
            team: offer.team.clone(),
            tags: offer.tags.clone(),
        });
    }

    /// Returns true if the configuration has a worker of this name.
    fn is_taken(&self, offer: &AgentOffer) -> bool {
        let known = self.0.workers().get(offer.worker());
        let own = offer.runtime.clone() as airside_runtime::AnyRuntime;
        known.is_some_and(|known| !std::sync::Arc::ptr_eq(&known.runtime, &own))
    }
}

#[async_trait]
impl WorkerRegister for WorkerHall {
    async fn admit(
        &self,
        offer: &AgentOffer,
        arrival: AgentArrival,
    ) -> Result<WorkerState, AdmissionError> {
        let worker = offer.worker();
        if self.is_taken(offer) {
            return Err(AdmissionError::Taken {
                worker: worker.clone(),
            });
        }
        let arrival = match arrival {
            AgentArrival::Started => airside_store::WorkerArrival::Started,
            AgentArrival::Back => airside_store::WorkerArrival::There,
        };
        let registered = self
            .0
            .welcome_agent(worker, offer.team.as_deref(), &offer.tags, arrival);
        let state = registered.await.map_err(|error| {
            let kind = WorkerKind::Agent.as_str();
            warn!(%worker, error = %chain(&error), kind, "worker not registered");
            AdmissionError::Unable
        })?;
        self.join(offer);
        Ok(state)
    }
}
