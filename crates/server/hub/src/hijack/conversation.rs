//! Carries a conversation between a shim's connection and a person's channels.

use std::io;

use airside_protocol::{HEARTBEAT, HubSays, ShimSays, ToHub, ToShim};
use tokio::sync::mpsc;

use super::{HijackEvent, HijackInput};
use crate::connection::{Receiver, Sender};

/// Serves an intercepted process until it has ended, the connection fails, or the person is gone.
pub(super) async fn hold(
    receiver: Receiver,
    sender: Sender,
    said: mpsc::Sender<HijackEvent>,
    typed: mpsc::Receiver<HijackInput>,
) {
    let ended = tokio::select! {
        ended = hear(receiver, &said) => ended,
        ended = tell(sender, typed) => ended,
        () = said.closed() => Ok(()),
    };
    if let Err(error) = ended {
        let lost = format!(
            "the connection to the container failed: {}",
            airside_model::chain(&error)
        );
        let _ = said.send(HijackEvent::Lost(lost)).await;
    }
}

async fn hear(mut receiver: Receiver, said: &mpsc::Sender<HijackEvent>) -> io::Result<()> {
    loop {
        let event = match receiver.next().await? {
            ToHub::Control(ShimSays::Heartbeat) => continue,
            ToHub::Control(ShimSays::Started) => HijackEvent::Started,
            ToHub::Output(output) => HijackEvent::Output(output.source, output.data),
            ToHub::Control(ShimSays::Finished { exit }) => {
                let _ = said.send(HijackEvent::Exited(exit)).await;
                return Ok(());
            }
            other => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{other:?} does not belong in a hijack"),
                ));
            }
        };
        if said.send(event).await.is_err() {
            return Ok(());
        }
    }
}

/// Ends only with an error: a person who types no more may still read.
async fn tell(mut sender: Sender, mut typed: mpsc::Receiver<HijackInput>) -> io::Result<()> {
    sender.say(HubSays::Begin).await?;
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    let mut open = true;
    loop {
        tokio::select! {
            input = typed.recv(), if open => match input {
                Some(HijackInput::Bytes(bytes)) => sender.send(&ToShim::Chunk(bytes)).await?,
                Some(HijackInput::Close) => sender.say(HubSays::CloseInput).await?,
                Some(HijackInput::Resize(size)) => sender.say(HubSays::Resize(size)).await?,
                None => open = false,
            },
            _ = heartbeat.tick() => sender.say(HubSays::Heartbeat).await?,
        }
    }
}
