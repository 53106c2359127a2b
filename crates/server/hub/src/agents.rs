//! Connections of agents: the hub knows who may dial its port, and nothing of what agents are for.

use std::io;

use airside_protocol::{Join, codec::Json};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use crate::connection::{Receiver, Sender};

/// The service to which the hub hands the connections of agents.
#[async_trait]
pub trait AgentService: Send + Sync + 'static {
    /// Judges who wants to join, and serves the connection to its end.
    async fn serve(&self, join: Join, wire: AgentWire);
}

/// An agent's connection after its first word.
pub struct AgentWire {
    receiver: Receiver,
    sender: Sender,
}

impl AgentWire {
    pub(crate) fn new(receiver: Receiver, sender: Sender) -> Self {
        Self { receiver, sender }
    }

    /// Says why not, and ends it.
    pub async fn refuse(mut self, reason: impl Into<String>, retry: bool) {
        self.sender.refuse(reason, retry).await;
    }

    /// Splits the connection; to be called once the agent is known and may join.
    pub fn split(mut self) -> (AgentReceiver, AgentSender) {
        self.receiver.is_known();
        (AgentReceiver(self.receiver), AgentSender(self.sender))
    }
}

pub struct AgentReceiver(Receiver);

impl AgentReceiver {
    /// The next message; an error also when the agent has been silent for too long. Safe to cancel.
    pub async fn next<T: Serialize + DeserializeOwned>(&mut self) -> io::Result<T> {
        let Json(said) = self.0.next_of().await?;
        Ok(said)
    }
}

pub struct AgentSender(Sender);

impl AgentSender {
    pub async fn say<T: Serialize + DeserializeOwned + Sync>(&mut self, says: T) -> io::Result<()> {
        self.0.send(&Json(says)).await
    }
}
