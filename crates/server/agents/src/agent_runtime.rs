//! A connected or absent agent as a runtime.

use std::{collections::HashSet, time::Duration};

use airside_model::{Handle, VolumeId, WorkerName, chain};
use airside_runtime::{
    Board, Capabilities, Cause, Condition, Error, Listed, Observation, Observed, PlacementSpec,
    Runtime,
};
use airside_runtime_remote::{RuntimeAnswer, RuntimeRequest};
use airside_store::Store;
use async_trait::async_trait;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

/// Time limit of every request but placing, which may have to pull an image.
const PROMPT: Duration = Duration::from_secs(60);

const ABSENT: &str = "its agent is not connected";

/// One agent for the life of the server, whether it is connected or not.
pub struct AgentRuntime {
    worker: WorkerName,
    lost_after: Duration,
    condition: watch::Sender<Condition>,
    board: Board,
    line: Mutex<Option<AgentLine>>,
    /// The containers that are its business: its word counts for no others.
    own: Mutex<HashSet<Handle>>,
    store: Store,
}

/// The way to a connected agent.
pub(crate) struct AgentLine {
    /// Instance of the agent's process.
    pub(crate) instance: String,
    pub(crate) asks: mpsc::UnboundedSender<PendingRequest>,
}

pub(crate) struct PendingRequest {
    pub(crate) ask: RuntimeRequest,
    pub(crate) reply: oneshot::Sender<RuntimeAnswer>,
}

impl AgentRuntime {
    pub(crate) fn new(worker: WorkerName, lost_after: Duration, store: Store) -> Self {
        Self {
            worker,
            lost_after,
            condition: watch::Sender::new(absent()),
            board: Board::default(),
            line: Mutex::default(),
            own: Mutex::default(),
            store,
        }
    }

    pub fn is_connected(&self) -> bool {
        self.line.lock().is_some()
    }

    /// Returns true if another process than this one is connected as this worker.
    pub(crate) fn is_taken_from(&self, instance: &str) -> bool {
        let line = self.line.lock();
        line.as_ref().is_some_and(|line| line.instance != instance)
    }

    /// Sends all further requests to the agent through this line; an earlier line ends.
    pub(crate) fn connect(&self, line: AgentLine) {
        *self.line.lock() = Some(line);
        self.condition.send_replace(Condition::default());
    }

    /// The line has ended, unless a newer one has taken its place.
    pub(crate) fn disconnect(&self, asks: &mpsc::UnboundedSender<PendingRequest>) {
        let mut line = self.line.lock();
        if !line
            .as_ref()
            .is_some_and(|line| line.asks.same_channel(asks))
        {
            return;
        }
        *line = None;
        drop(line);
        self.condition.send_replace(absent());
        for handle in self.board.living() {
            self.silent(&handle);
        }
    }

    /// Ends the line, if there is one.
    pub(crate) fn cut(&self) {
        let asks = self.line.lock().as_ref().map(|line| line.asks.clone());
        if let Some(asks) = asks {
            self.disconnect(&asks);
        }
    }

    /// Notes that a container is there as far as the server knows, and that its state is unknown.
    pub(crate) fn silent(&self, handle: &Handle) {
        let observed = Observed::Silent {
            node: None,
            reason: ABSENT.to_owned(),
        };
        self.board.set(handle, observed);
    }

    /// A container that was there is not any more.
    pub(crate) fn missing(&self, handle: &Handle) {
        let observed = Observed::Gone {
            node: None,
            reason: "it is no longer on the agent's machine".to_owned(),
            cause: Cause::Removed,
        };
        self.board.set(handle, observed);
    }

    /// Takes over the containers that this server or an earlier one placed there.
    pub(crate) fn adopt(&self, handles: impl IntoIterator<Item = Handle>) {
        self.own.lock().extend(handles);
    }

    pub(crate) fn saw(&self, observation: Observation) {
        if self.own.lock().contains(&observation.handle) {
            self.board.set(&observation.handle, observation.observed);
        }
    }

    /// Returns true if the agent may have such a container: one of its own, or one without a row,
    /// which the sweeper removes.
    async fn may_have(&self, handle: &Handle) -> Result<bool, Error> {
        if self.own.lock().contains(handle) {
            return Ok(true);
        }
        let known = self.store.container(handle).await.map_err(|error| {
            warn!(
                worker = %self.worker, error = %chain(&error),
                "containers of an agent not compared with the store"
            );
            self.unavailable("the server cannot look into its database at the moment")
        })?;
        let others = known.is_some_and(|container| container.worker != self.worker);
        if others {
            warn!(worker = %self.worker, %handle, "container of another worker listed by an agent");
        }
        Ok(!others)
    }

    async fn ask(&self, ask: RuntimeRequest) -> Result<RuntimeAnswer, Error> {
        let (reply, answer) = oneshot::channel();
        let asked = PendingRequest { ask, reply };
        let sent = {
            let line = self.line.lock();
            line.as_ref()
                .is_some_and(|line| line.asks.send(asked).is_ok())
        };
        if sent {
            answer.await.map_err(|_| self.unavailable(ABSENT))
        } else {
            Err(self.unavailable(ABSENT))
        }
    }

    /// Sends a request whose answer takes no time.
    async fn ask_promptly(&self, ask: RuntimeRequest) -> Result<RuntimeAnswer, Error> {
        let asked = tokio::time::timeout(PROMPT, self.ask(ask)).await;
        asked.unwrap_or_else(|_| Err(self.unavailable("its agent does not answer")))
    }

    fn unavailable(&self, message: impl Into<String>) -> Error {
        Error::unavailable(&self.worker, message)
    }

    /// Converts an answer that is not the one expected into an error.
    fn otherwise(&self, answer: RuntimeAnswer) -> Error {
        match answer {
            RuntimeAnswer::Refused { message, cause } => Error::Refused { message, cause },
            RuntimeAnswer::Unavailable { message, cause } => {
                let worker = self.worker.clone();
                Error::Unavailable {
                    worker,
                    message,
                    cause,
                }
            }
            other => self.unavailable(format!("its agent answers {other:?}")),
        }
    }
}

fn absent() -> Condition {
    Condition {
        stalled: Some(ABSENT.to_owned()),
        ..Condition::default()
    }
}

#[async_trait]
impl Runtime for AgentRuntime {
    fn worker(&self) -> &WorkerName {
        &self.worker
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: self.lost_after,
            has_host_image: true,
            pulls_images: false,
            fence_after: None,
        }
    }

    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        Some(self.condition.subscribe())
    }

    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, Error> {
        self.adopt([spec.handle.clone()]);
        match self
            .ask(RuntimeRequest::Place(Box::new(spec.clone())))
            .await
        {
            Ok(RuntimeAnswer::Placed { uid }) => Ok(uid),
            Ok(other) => {
                self.board.take_back(&spec.handle);
                Err(self.otherwise(other))
            }
            Err(error) => {
                // The agent may know of it, now or earlier.
                self.silent(&spec.handle);
                Err(error)
            }
        }
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        self.board.observe()
    }

    async fn destroy(&self, handle: &Handle) -> Result<(), Error> {
        match self
            .ask_promptly(RuntimeRequest::Destroy(handle.clone()))
            .await?
        {
            RuntimeAnswer::Destroyed => {}
            other => return Err(self.otherwise(other)),
        }
        let gone = Observed::Gone {
            node: None,
            reason: "container removed".to_owned(),
            cause: Cause::Removed,
        };
        self.board.forget(handle, gone);
        self.own.lock().remove(handle);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        match self.ask_promptly(RuntimeRequest::List).await? {
            RuntimeAnswer::Listed(there) => {
                let mut listed = Vec::new();
                for (handle, uid) in there {
                    if self.may_have(&handle).await? {
                        listed.push(Listed {
                            handle,
                            uid,
                            leaving: false,
                        });
                    }
                }
                Ok(listed)
            }
            other => Err(self.otherwise(other)),
        }
    }

    async fn seal(&self, _: &Handle, path: &str, _: &VolumeId) -> Result<(), Error> {
        Err(Error::refused(format!(
            "{path}: outputs of an agent's steps are uploaded, not sealed in place"
        )))
    }
}
