//! The workers, the hub that their steps dial, and the orchestrator over both.

use std::{net::SocketAddr, sync::Arc};

use airside_agents::{AgentOffer, Agents};
use airside_hub::{Hub, HubIdentity};
use airside_model::WorkerState;
use airside_orchestrator::{Orchestrator, StepLimits, WorkerEntry, Workers};
use airside_store::ContainerFilter;
use anyhow::Result;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{agents::WorkerHall, foundation::Foundation, mode::Mode, targets::Targets};
use crate::{data::DataFolder, options::ServerOptions, proofs::WorkerProofs, workers};

/// All workers of a server, and the parts that reach them.
pub(super) struct Fleet {
    pub(super) agents: Agents,
    /// Workers that are no targets.
    pub(super) others: Vec<WorkerEntry>,
    pub(super) targets: Targets,
    pub(super) hub: Hub,
    /// Address on which the hub listens.
    pub(super) hub_address: SocketAddr,
    pub(super) orchestrator: Orchestrator,
}

impl Fleet {
    /// Connects the configured workers, starts the hub and lets agents join.
    pub(super) async fn open(
        base: &Foundation,
        options: &ServerOptions,
        mode: Mode,
        data: &DataFolder,
        shutdown: &CancellationToken,
    ) -> Result<Self> {
        let lost_after = options.workers.agent_lost_after;
        let (agents, offers) = Agents::open(base.store.clone(), lost_after).await?;
        let offers = current_offers(base, offers).await?;
        let proofs = WorkerProofs::default();
        let others = local_workers(base, options, mode, data).await?;
        let targets = targets(base, options, &proofs).await?;
        retain_workers(base, &others, &targets, &offers).await?;
        let entries = others.iter().cloned().chain(targets.entries()).collect();
        let (hub, hub_address) = start_hub(base, options, data, proofs, shutdown).await?;
        let orchestrator = Orchestrator::new(
            base.store.clone(),
            hub.clone(),
            base.volumes.clone(),
            Workers::new(entries),
            base.installation.clone(),
            StepLimits {
                keeping: options.keeping.keeping(),
                output: options.limits.output(),
                ..StepLimits::default()
            },
            base.metrics.clone(),
        );
        orchestrator.settle_workers().await?;
        let register = WorkerHall(orchestrator.clone());
        for offer in &offers {
            register.join(offer);
        }
        hub.admit_agents(agents.door(Arc::new(register)));
        Ok(Self {
            agents,
            others,
            targets,
            hub,
            hub_address,
            orchestrator,
        })
    }
}

/// Leaves out agents that are gone with their token, once no container of theirs is left.
async fn current_offers(base: &Foundation, offers: Vec<AgentOffer>) -> Result<Vec<AgentOffer>> {
    let states = base.store.worker_states().await?;
    let passes = base.store.agent_passes().await?;
    let mut current = Vec::new();
    for offer in offers {
        let worker = offer.worker();
        let is_retired = states.contains(&(worker.clone(), WorkerState::Retired));
        let has_token = passes.iter().any(|pass| pass.name == worker.as_str());
        let filter = ContainerFilter {
            worker: Some(worker.clone()),
            ..ContainerFilter::default()
        };
        if !is_retired || has_token || !base.store.containers(&filter).await?.is_empty() {
            current.push(offer);
        }
    }
    Ok(current)
}

async fn local_workers(
    base: &Foundation,
    options: &ServerOptions,
    mode: Mode,
    data: &DataFolder,
) -> Result<Vec<WorkerEntry>> {
    if !mode.has_local_worker(options) {
        return Ok(Vec::new());
    }
    let shim = options.workers.local.find_shim()?;
    let local = workers::local(
        data,
        &base.store,
        base.volumes.clone(),
        &base.installation,
        &shim,
        options.isolation.choices(),
        options.workers.registries().mirrors,
    );
    Ok(vec![local.await?])
}

async fn targets(
    base: &Foundation,
    options: &ServerOptions,
    proofs: &WorkerProofs,
) -> Result<Targets> {
    let source = options.workers.target_source();
    let images = base.images.as_ref();
    Targets::open(source, &base.installation, proofs, &base.store, images).await
}

/// Removes workers from the store that are no longer configured.
async fn retain_workers(
    base: &Foundation,
    others: &[WorkerEntry],
    targets: &Targets,
    offers: &[AgentOffer],
) -> Result<()> {
    let names: Vec<_> = others
        .iter()
        .cloned()
        .chain(targets.entries())
        .map(|entry| entry.runtime.worker().clone())
        .chain(offers.iter().map(|offer| offer.worker().clone()))
        .collect();
    for worker in base.store.workers().await? {
        if !names.contains(&worker.name) {
            info!(worker = %worker.name, "worker removed: it is no longer configured");
        }
    }
    base.store.retain_workers(&names).await?;
    Ok(())
}

async fn start_hub(
    base: &Foundation,
    options: &ServerOptions,
    data: &DataFolder,
    proofs: WorkerProofs,
    shutdown: &CancellationToken,
) -> Result<(Hub, SocketAddr)> {
    let address = options.workers.hub_address(data);
    let parts = airside_hub::Parts {
        store: base.store.clone(),
        volumes: base.volumes.clone(),
        proofs: Arc::new(proofs),
    };
    let identity = HubIdentity::load_or_create(&data.join("hub-key.pem"))?;
    let hub = Hub::start(address, &identity, parts, shutdown.clone()).await?;
    hub.listen_at(&workers::hub_socket(data))?;
    data.save_hub_port(hub.port())?;
    let bound = SocketAddr::new(address.ip(), hub.port());
    Ok((hub, bound))
}
