//! One attempt at uploading a volume.

use std::path::PathBuf;

use airside_archive::Hasher;
use airside_model::chain;
use airside_protocol::{End, HubSays, ShimSays, ToHub, ToShim, Transfer};
use bytes::Bytes;
use tokio::{pin, sync::mpsc, task::spawn_blocking};

use super::{STALL, Trouble, Volumes, pipe, refused};
use crate::connection::{Receiver, Sender};

enum Answer {
    Begin,
    Stored,
}

impl Volumes {
    pub(super) async fn try_upload(&self, transfer: &Transfer) -> Result<(), Trouble> {
        let (mut receiver, mut sender) = self.dialer.dial().await?;
        sender
            .say(ShimSays::Upload {
                handle: self.handle.clone(),
                session: self.outbox.session(),
                volume: transfer.volume.clone(),
            })
            .await?;
        match receiver
            .receive_within(STALL)
            .await
            .map_err(Trouble::from)
            .and_then(understand)?
        {
            // An earlier attempt got through, only its answer did not.
            Some(Answer::Stored) => return Ok(()),
            Some(Answer::Begin) => {}
            None => answer(&mut receiver, Expected::Begin).await?,
        }
        let (chunks, packed) = pipe::pipe();
        let folder = PathBuf::from(&transfer.path);
        let packing = spawn_blocking(move || {
            let mut hasher = Hasher::new(pipe::Sink(chunks));
            airside_archive::pack(&folder, &mut hasher)?;
            let (_sink, digest) = hasher.finish();
            Ok::<_, airside_archive::Error>(End {
                sha256: digest.sha256,
                bytes: digest.bytes,
            })
        });
        send(&mut receiver, &mut sender, packed).await?;
        let end = match packing.await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => {
                return Err(Trouble::Final(format!("cannot pack it: {}", chain(&error))));
            }
            Err(error) => return Err(Trouble::Final(format!("cannot pack it: {}", chain(&error)))),
        };
        sender.say(ShimSays::End(end)).await?;
        answer(&mut receiver, Expected::Stored).await
    }
}

/// Sends all chunks, and stops early when the hub has something to say against it.
async fn send(
    receiver: &mut Receiver,
    sender: &mut Sender,
    mut chunks: mpsc::Receiver<Bytes>,
) -> Result<(), Trouble> {
    let sending = async {
        while let Some(chunk) = chunks.recv().await {
            sender.send(ToHub::Chunk(chunk)).await?;
        }
        sender.flush().await.map_err(Trouble::from)
    };
    pin!(sending);
    loop {
        tokio::select! {
            sent = &mut sending => return sent,
            message = receiver.receive() => match understand(message?)? {
                None => {}
                Some(_) => return Err(Trouble::Again("the hub says something out of turn".into())),
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Begin,
    Stored,
}

/// Waits for the answer. The time that a hub takes to seal a volume depends on the volume; the
/// connection itself watches that the hub is still there.
async fn answer(receiver: &mut Receiver, expected: Expected) -> Result<(), Trouble> {
    loop {
        match (understand(receiver.receive().await?)?, expected) {
            (None, _) => {}
            (Some(Answer::Begin), Expected::Begin) | (Some(Answer::Stored), Expected::Stored) => {
                return Ok(());
            }
            _ => return Err(Trouble::Again("the hub says something out of turn".into())),
        }
    }
}

fn understand(message: ToShim) -> Result<Option<Answer>, Trouble> {
    match message {
        ToShim::Control(HubSays::Begin) => Ok(Some(Answer::Begin)),
        ToShim::Control(HubSays::Stored) => Ok(Some(Answer::Stored)),
        ToShim::Control(HubSays::Heartbeat) => Ok(None),
        ToShim::Control(HubSays::Refused { reason, retry }) => Err(refused(reason, retry)),
        _ => Err(Trouble::Again("the hub says something out of turn".into())),
    }
}
