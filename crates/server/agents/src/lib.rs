//! Machines elsewhere as workers, the server's half: admission of agents, each of them a runtime.
//!
//! The crate `runtime-remote` is the other half: the agent on its machine, and the messages between
//! the two.
//!
//! **Invariant:** an agent is the worker that its token names, with the team and the tags that its
//! token names, whatever it says of itself. *Absent:* making containers, and choosing a worker.

mod admission;
mod agent_runtime;
mod conversation;

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_hub::AgentWire;
use airside_model::{ContainerState, Handle, WorkerName, WorkerState, chain};
use airside_protocol::{AgentArrival, Join};
use airside_runtime::Runtime as _;
use airside_runtime_remote::ServerMessage;
use airside_store::{ContainerFilter, Store};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::{info, warn};

pub use self::agent_runtime::AgentRuntime;
use self::{
    admission::{Admitted, Refusal},
    agent_runtime::{AgentLine, PendingRequest},
    conversation::converse,
};

/// An agent as a worker.
#[derive(Clone)]
pub struct AgentOffer {
    pub runtime: Arc<AgentRuntime>,
    pub team: Option<String>,
    pub tags: Vec<String>,
}

impl AgentOffer {
    pub fn worker(&self) -> &WorkerName {
        self.runtime.worker()
    }
}

/// The server's register of workers.
#[async_trait]
pub trait WorkerRegister: Send + Sync + 'static {
    /// Makes the agent one of the workers; what it is now.
    async fn admit(
        &self,
        offer: &AgentOffer,
        arrival: AgentArrival,
    ) -> Result<WorkerState, AdmissionError>;
}

/// The reason why an agent with a good token does not become a worker.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The configuration has a worker of its name.
    #[error(
        "there is a worker `{worker}` already that is not an agent: the agent needs another name"
    )]
    Taken { worker: WorkerName },
    /// The server cannot register the agent now; the agent may come again.
    #[error("the server cannot register workers at the moment")]
    Unable,
}

/// All agents there are, connected or not; clones share them.
#[derive(Clone)]
pub struct Agents {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    lost_after: Duration,
    known: Mutex<HashMap<WorkerName, Arc<AgentRuntime>>>,
}

impl Agents {
    /// Returns all agents that the store knows, none of them connected. Their steps are lost after
    /// this time of silence.
    pub async fn open(
        store: Store,
        lost_after: Duration,
    ) -> airside_store::Result<(Self, Vec<AgentOffer>)> {
        let agents = Self {
            inner: Arc::new(Inner {
                store: store.clone(),
                lost_after,
                known: Mutex::default(),
            }),
        };
        let mut offers = Vec::new();
        for worker in store.agents().await? {
            let runtime = agents.runtime(&worker.name);
            for handle in agents.placed(&worker.name).await? {
                runtime.silent(&handle);
            }
            offers.push(AgentOffer {
                runtime,
                team: worker.team,
                tags: worker.tags,
            });
        }
        Ok((agents, offers))
    }

    /// Returns the service to which the hub hands agents' connections.
    pub fn door(&self, register: Arc<dyn WorkerRegister>) -> Arc<dyn airside_hub::AgentService> {
        Arc::new(Door {
            agents: self.clone(),
            register,
        })
    }

    /// Ends the connection of an agent: whether it may come back, its token says then.
    pub fn cut(&self, worker: &WorkerName) {
        let known = self.inner.known.lock().get(worker).cloned();
        if let Some(runtime) = known {
            runtime.cut();
        }
    }

    pub fn runtime(&self, worker: &WorkerName) -> Arc<AgentRuntime> {
        let mut known = self.inner.known.lock();
        let inner = &self.inner;
        let fresh = || AgentRuntime::new(worker.clone(), inner.lost_after, inner.store.clone());
        let runtime = known.entry(worker.clone());
        runtime.or_insert_with(|| Arc::new(fresh())).clone()
    }

    /// Returns the containers that the agent's machine should have. The agent may report on all
    /// that were placed there.
    async fn placed(&self, worker: &WorkerName) -> airside_store::Result<Vec<Handle>> {
        let filter = ContainerFilter {
            worker: Some(worker.clone()),
            ..ContainerFilter::default()
        };
        let containers = self.inner.store.containers(&filter).await?;
        let handles = containers.iter().map(|container| container.handle.clone());
        self.runtime(worker).adopt(handles);
        Ok(containers
            .into_iter()
            .filter(|container| container.state == ContainerState::Created)
            .map(|container| container.handle)
            .collect())
    }
}

struct Door {
    agents: Agents,
    register: Arc<dyn WorkerRegister>,
}

#[async_trait]
impl airside_hub::AgentService for Door {
    async fn serve(&self, join: Join, wire: AgentWire) {
        let worker = WorkerName::new(&join.name);
        match self.judge(&worker, &join).await {
            Ok(guest) => self.host(&worker, join, guest, wire).await,
            Err(Refusal { reason, retry }) => {
                warn!(%worker, reason, retry, "agent refused");
                wire.refuse(reason, retry).await;
            }
        }
    }
}

/// An agent that is let in.
struct Guest {
    offer: AgentOffer,
    state: WorkerState,
    /// The containers that its machine should have, as known before it could be asked.
    placed: Vec<Handle>,
}

impl Door {
    async fn judge(&self, worker: &WorkerName, join: &Join) -> Result<Guest, Refusal> {
        let Admitted { team, tags } = admission::judge(&self.agents.inner.store, join).await?;
        let runtime = self.agents.runtime(worker);
        if runtime.is_taken_from(&join.instance) {
            return Err(Refusal::later(format!(
                "another agent is connected as `{worker}`; every machine needs a name and a token of its own"
            )));
        }
        let offer = AgentOffer {
            runtime,
            team,
            tags,
        };
        let admitted = self.register.admit(&offer, join.arrival).await;
        let state = admitted.map_err(|unwelcome| Refusal {
            retry: matches!(unwelcome, AdmissionError::Unable),
            reason: unwelcome.to_string(),
        })?;
        let placed = self.agents.placed(worker).await.map_err(|error| {
            warn!(
                %worker, error = %chain(&error),
                "agent postponed: the store does not answer"
            );
            Refusal::later("the server cannot look into its database at the moment")
        })?;
        Ok(Guest {
            offer,
            state,
            placed,
        })
    }

    async fn host(&self, worker: &WorkerName, join: Join, guest: Guest, wire: AgentWire) {
        let Guest {
            offer,
            state,
            placed,
        } = guest;
        let (mut receiver, mut sender) = wire.split();
        let welcome = ServerMessage::Welcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            team: offer.team,
            tags: offer.tags,
        };
        if sender.say(welcome).await.is_err() {
            return;
        }
        let runtime = offer.runtime;
        let (asks, asked) = mpsc::unbounded_channel::<PendingRequest>();
        runtime.connect(AgentLine {
            instance: join.instance,
            asks: asks.clone(),
        });
        info!(%worker, version = join.version, %state, "agent connected");
        airside_tasks::spawn("look for lost steps", look_for(runtime.clone(), placed));
        // Only the runtime's end of it keeps the line open.
        let weak = asks.downgrade();
        drop(asks);
        let ended = converse(&runtime, asked, &mut receiver, &mut sender).await;
        if let Some(asks) = weak.upgrade() {
            runtime.disconnect(&asks);
        }
        match ended {
            Ok(()) => info!(%worker, "agent's connection ended by the server"),
            Err(error) => warn!(%worker, error = %chain(&error), "agent disconnected"),
        }
    }
}

/// Finds containers that an agent's machine has lost while it was not connected.
async fn look_for(runtime: Arc<AgentRuntime>, placed: Vec<Handle>) {
    if placed.is_empty() {
        return;
    }
    // An agent that goes at once is looked at when it is back.
    let Ok(there) = runtime.list().await else {
        return;
    };
    for handle in placed {
        if !there.iter().any(|listed| listed.handle == handle) {
            runtime.missing(&handle);
        }
    }
}
