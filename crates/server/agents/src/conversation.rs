//! One connection of an agent that was let in, to its end.

use std::{collections::HashMap, io};

use airside_hub::{AgentReceiver, AgentSender};
use airside_protocol::HEARTBEAT;
use airside_runtime_remote::{AgentMessage, RuntimeAnswer, ServerMessage};
use tokio::sync::{mpsc, oneshot};

use crate::agent_runtime::{AgentRuntime, PendingRequest};

/// Passes requests on and answers back. Returns without an error once no request can come through
/// this line any more: a newer connection has taken its place, or its token was revoked.
pub(crate) async fn converse(
    runtime: &AgentRuntime,
    mut asked: mpsc::UnboundedReceiver<PendingRequest>,
    receiver: &mut AgentReceiver,
    sender: &mut AgentSender,
) -> io::Result<()> {
    let mut waiting: HashMap<u64, oneshot::Sender<RuntimeAnswer>> = HashMap::new();
    let mut number = 0;
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    loop {
        tokio::select! {
            said = receiver.next() => match said? {
                AgentMessage::Heartbeat => {}
                AgentMessage::Saw { observation } => runtime.saw(observation),
                AgentMessage::Answer { id, answer } => {
                    if let Some(reply) = waiting.remove(&id) {
                        // The caller may have stopped waiting.
                        let _ = reply.send(answer);
                    }
                }
            },
            next = asked.recv() => {
                let Some(PendingRequest { ask, reply }) = next else {
                    return Ok(());
                };
                number += 1;
                waiting.insert(number, reply);
                sender.say(ServerMessage::Ask { id: number, ask }).await?;
            }
            _ = heartbeat.tick() => sender.say(ServerMessage::Heartbeat).await?,
        }
    }
}
