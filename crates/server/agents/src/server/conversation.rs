//! One connection of an agent that was let in, to its end.

use std::{collections::HashMap, io};

use airside_hub::{AgentReceiver, AgentSender, AgentWire};
use tokio::sync::{mpsc, oneshot};

use super::agent_runtime::{AgentRuntime, Asked};
use crate::{AgentSays, Answer, ServerSays};

/// Passes questions on and answers back. Ends well when nobody asks through this line any more: a newer connection has
/// taken its place, or its token was revoked.
pub(super) async fn converse(
    runtime: &AgentRuntime,
    mut asked: mpsc::UnboundedReceiver<Asked>,
    receiver: &mut AgentReceiver,
    sender: &mut AgentSender,
) -> io::Result<()> {
    let mut waiting: HashMap<u64, oneshot::Sender<Answer>> = HashMap::new();
    let mut number = 0;
    let mut heartbeat = tokio::time::interval(AgentWire::HEARTBEAT);
    loop {
        tokio::select! {
            said = receiver.next() => match said? {
                AgentSays::Heartbeat => {}
                AgentSays::Saw { observation } => runtime.saw(observation),
                AgentSays::Answer { id, answer } => {
                    if let Some(reply) = waiting.remove(&id) {
                        // Whoever asked may have stopped waiting.
                        let _ = reply.send(answer);
                    }
                }
            },
            next = asked.recv() => {
                let Some(Asked { ask, reply }) = next else {
                    return Ok(());
                };
                number += 1;
                waiting.insert(number, reply);
                sender.say(ServerSays::Ask { id: number, ask }).await?;
            }
            _ = heartbeat.tick() => sender.say(ServerSays::Heartbeat).await?,
        }
    }
}
