//! Doing what the server asks.

use std::time::Duration;

use airside_model::{InstallationId, chain};
use airside_protocol::HEARTBEAT;
use airside_runtime::{AnyRuntime, Error as RuntimeError};
use futures::StreamExt;
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::{
    AgentMessage, RuntimeAnswer, RuntimeRequest, ServerMessage,
    link::{self, Link},
};

/// Interval between two searches for unused images.
const IMAGE_GC_INTERVAL: Duration = Duration::from_secs(3600);

/// Serves one connection until it ends; why it did. What was asked is done to its end all the same.
pub(crate) async fn serve_requests(
    link: Link,
    runtime: &AnyRuntime,
    installation: &InstallationId,
) -> link::Error {
    let Link {
        mut receiver,
        mut sender,
    } = link;
    let mut observations = runtime.observe();
    let (answered, mut answers) = mpsc::unbounded_channel();
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    loop {
        let done = tokio::select! {
            // In this order: what the runtime saw while it did something is sent before that it is
            // done.
            biased;
            Some(observation) = observations.next() => {
                sender.say(AgentMessage::Saw { observation }).await
            }
            Some((id, answer)) = answers.recv() => {
                sender.say(AgentMessage::Answer { id, answer }).await
            }
            _ = heartbeat.tick() => sender.say(AgentMessage::Heartbeat).await,
            said = receiver.next_message() => match said {
                Ok(ServerMessage::Ask { id, ask }) => {
                    let (runtime, answered) = (runtime.clone(), answered.clone());
                    let installation = installation.clone();
                    airside_tasks::spawn("question of the server", async move {
                        let answer = answer(&runtime, installation, ask).await;
                        // The answer is lost if the connection has ended; the server asks again.
                        let _ = answered.send((id, answer));
                    });
                    Ok(())
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            },
        };
        if let Err(error) = done {
            return error;
        }
    }
}

async fn answer(
    runtime: &AnyRuntime,
    installation: InstallationId,
    request: RuntimeRequest,
) -> RuntimeAnswer {
    let answered = match request {
        RuntimeRequest::Place(mut spec) => {
            spec.installation = installation;
            let placed = runtime.place(&spec).await;
            placed.map(|uid| RuntimeAnswer::Placed { uid })
        }
        RuntimeRequest::Destroy(handle) => {
            let destroyed = runtime.destroy(&handle).await;
            destroyed.map(|()| RuntimeAnswer::Destroyed)
        }
        RuntimeRequest::List => runtime.list().await.map(|there| {
            let there = there.into_iter();
            RuntimeAnswer::Listed(there.map(|listed| (listed.handle, listed.uid)).collect())
        }),
    };
    answered.unwrap_or_else(|error| match error {
        RuntimeError::Unavailable { message, cause, .. } => {
            RuntimeAnswer::Unavailable { message, cause }
        }
        RuntimeError::Refused { message, cause } => RuntimeAnswer::Refused { message, cause },
    })
}

/// Removes images that no step used for this long, at intervals.
pub(crate) async fn collect_images(runtime: AnyRuntime, keep: Duration) {
    let mut looks = tokio::time::interval(IMAGE_GC_INTERVAL);
    loop {
        looks.tick().await;
        match runtime.collect_images(keep).await {
            Ok(0) => {}
            Ok(images) => info!(images, "unused images removed"),
            Err(error) => warn!(error = %chain(&error), "unused images not removed"),
        }
    }
}
