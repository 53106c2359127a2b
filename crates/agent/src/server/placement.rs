//! A connected or absent agent as a runtime.

use std::time::Duration;

use airside_model::{Handle, VolumeId, WorkerName};
use airside_runtime::{
    Board, Capabilities, Condition, Error, Listed, Observation, Observed, Placement, PlacementSpec,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{Answer, Ask};

/// Images may take their time to be pulled, but nobody waits for ever for the rest.
const PROMPT: Duration = Duration::from_secs(60);

const ABSENT: &str = "its agent is not connected";

/// One agent for the life of the server, whether it is connected or not.
pub struct AgentPlacement {
    worker: WorkerName,
    lost_after: Duration,
    condition: watch::Sender<Condition>,
    board: Board,
    line: Mutex<Option<Line>>,
}

/// The way to a connected agent.
pub(super) struct Line {
    /// Of the agent's process.
    pub(super) instance: String,
    pub(super) asks: mpsc::UnboundedSender<Asked>,
}

pub(super) struct Asked {
    pub(super) ask: Ask,
    pub(super) reply: oneshot::Sender<Answer>,
}

impl AgentPlacement {
    pub(super) fn new(worker: WorkerName, lost_after: Duration) -> Self {
        Self {
            worker,
            lost_after,
            condition: watch::Sender::new(absent()),
            board: Board::default(),
            line: Mutex::default(),
        }
    }

    pub fn is_connected(&self) -> bool {
        self.line.lock().is_some()
    }

    /// Another process than this one is connected as this worker.
    pub(super) fn is_taken_from(&self, instance: &str) -> bool {
        let line = self.line.lock();
        line.as_ref().is_some_and(|line| line.instance != instance)
    }

    /// From here on it is asked through this line; one from before ends.
    pub(super) fn connect(&self, line: Line) {
        *self.line.lock() = Some(line);
        self.condition.send_replace(Condition::default());
    }

    /// The line has ended, unless a newer one has taken its place.
    pub(super) fn disconnect(&self, asks: &mpsc::UnboundedSender<Asked>) {
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
    pub(super) fn cut(&self) {
        let asks = self.line.lock().as_ref().map(|line| line.asks.clone());
        if let Some(asks) = asks {
            self.disconnect(&asks);
        }
    }

    /// A container is there as far as anybody knows, and nobody can say how it is doing.
    pub(super) fn silent(&self, handle: &Handle) {
        let observed = Observed::Silent {
            node: None,
            reason: ABSENT.to_owned(),
        };
        self.board.set(handle, observed);
    }

    /// A container that was there is not any more.
    pub(super) fn missing(&self, handle: &Handle) {
        let observed = Observed::Gone {
            node: None,
            reason: "it is no longer on the agent's machine".to_owned(),
        };
        self.board.set(handle, observed);
    }

    pub(super) fn saw(&self, observation: Observation) {
        self.board.set(&observation.handle, observation.observed);
    }

    async fn ask(&self, ask: Ask) -> Result<Answer, Error> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked { ask, reply };
        let sent = {
            let line = self.line.lock();
            line.as_ref()
                .is_some_and(|line| line.asks.send(asked).is_ok())
        };
        match sent {
            true => answer.await.map_err(|_| self.unavailable(ABSENT)),
            false => Err(self.unavailable(ABSENT)),
        }
    }

    /// The same where an answer takes no time.
    async fn ask_promptly(&self, ask: Ask) -> Result<Answer, Error> {
        let asked = tokio::time::timeout(PROMPT, self.ask(ask)).await;
        asked.unwrap_or_else(|_| Err(self.unavailable("its agent does not answer")))
    }

    fn unavailable(&self, message: impl Into<String>) -> Error {
        Error::Unavailable {
            worker: self.worker.clone(),
            message: message.into(),
        }
    }

    /// What an answer means that is not the one hoped for.
    fn otherwise(&self, answer: Answer) -> Error {
        match answer {
            Answer::Refused { message } => Error::Refused { message },
            Answer::Unavailable { message } => self.unavailable(message),
            other => self.unavailable(format!("its agent answers {other:?}")),
        }
    }
}

fn absent() -> Condition {
    Condition {
        stalled: Some(ABSENT.to_owned()),
        lacks: Vec::new(),
    }
}

#[async_trait]
impl Placement for AgentPlacement {
    fn worker(&self) -> &WorkerName {
        &self.worker
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: self.lost_after,
            has_host_image: true,
            fence_after: None,
        }
    }

    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        Some(self.condition.subscribe())
    }

    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, Error> {
        match self.ask(Ask::Place(Box::new(spec.clone()))).await? {
            Answer::Placed { uid } => Ok(uid),
            other => Err(self.otherwise(other)),
        }
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        self.board.observe()
    }

    async fn destroy(&self, handle: &Handle) -> Result<(), Error> {
        match self.ask_promptly(Ask::Destroy(handle.clone())).await? {
            Answer::Destroyed => {}
            other => return Err(self.otherwise(other)),
        }
        let gone = Observed::Gone {
            node: None,
            reason: "container removed".to_owned(),
        };
        self.board.forget(handle, gone);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        match self.ask_promptly(Ask::List).await? {
            Answer::Listed(there) => {
                let there = there.into_iter();
                Ok(there.map(|(handle, uid)| Listed { handle, uid }).collect())
            }
            other => Err(self.otherwise(other)),
        }
    }

    async fn seal(&self, _: &Handle, path: &str, _: &VolumeId) -> Result<(), Error> {
        Err(Error::Refused {
            message: format!(
                "{path}: outputs of an agent's steps are uploaded, not sealed in place"
            ),
        })
    }
}
