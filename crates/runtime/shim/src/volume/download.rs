//! One attempt at fetching a volume.

use std::path::PathBuf;

use airside_archive::Limits;
use airside_model::chain;
use airside_protocol::{End, HubSays, ShimSays, ToShim, Transfer};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{STALL, Trouble, Volumes, pipe, refused};
use crate::connection::Receiver;

impl Volumes {
    pub(super) async fn try_fetch(&self, transfer: &Transfer) -> Result<(), Trouble> {
        let (mut receiver, mut sender) = self.dialer.dial().await?;
        sender
            .say(ShimSays::Fetch {
                handle: self.handle.clone(),
                session: self.outbox.session(),
                volume: transfer.volume.clone(),
            })
            .await?;
        begin(&mut receiver).await?;

        let (chunks, packed) = pipe::pipe();
        let dest = PathBuf::from(&transfer.path);
        let unpacking = spawn_blocking(move || {
            let source = pipe::Source {
                chunks: packed,
                current: Bytes::new(),
            };
            airside_archive::unpack(source, &dest, &Limits::UNBOUNDED)
        });
        let received = receive(&mut receiver, chunks).await;
        // Also when the connection failed: no thread may write there while the next attempt does.
        let unpacked = unpacking.await;
        received?;
        match unpacked {
            Ok(Ok(())) => Ok(()),
            // The bytes are what the hub has, so it would go wrong again.
            Ok(Err(error)) => Err(Trouble::Final(format!(
                "cannot unpack it: {}",
                chain(&error)
            ))),
            Err(error) => Err(Trouble::Final(format!(
                "cannot unpack it: {}",
                chain(&error)
            ))),
        }
    }
}

async fn begin(receiver: &mut Receiver) -> Result<(), Trouble> {
    loop {
        match receiver.receive_within(STALL).await? {
            ToShim::Control(HubSays::Begin) => return Ok(()),
            ToShim::Control(HubSays::Heartbeat) => {}
            ToShim::Control(HubSays::Refused { reason, retry }) => {
                return Err(refused(reason, retry));
            }
            _ => return Err(Trouble::Again("the hub says something out of turn".into())),
        }
    }
}

/// Passes the volume on and compares it with what the hub says it sent.
async fn receive(receiver: &mut Receiver, chunks: mpsc::Sender<Bytes>) -> Result<(), Trouble> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let end = loop {
        match receiver.receive_within(STALL).await? {
            ToShim::Chunk(chunk) => {
                hash.update(&chunk);
                bytes += chunk.len() as u64;
                // The unpacking may have given up. Whether that is its fault or the stream's only
                // the hash at the end can tell.
                let _ = chunks.send(chunk).await;
            }
            ToShim::Control(HubSays::End(end)) => break end,
            ToShim::Control(HubSays::Heartbeat) => {}
            ToShim::Control(HubSays::Refused { reason, retry }) => {
                return Err(refused(reason, retry));
            }
            ToShim::Control(_) => {
                return Err(Trouble::Again("the hub says something out of turn".into()));
            }
        }
    };
    let received = End {
        sha256: hex::encode(hash.finalize()),
        bytes,
    };
    if received == end {
        return Ok(());
    }
    Err(Trouble::Damaged(format!(
        "it arrived damaged ({} bytes with SHA-256 {} instead of {} with {})",
        received.bytes, received.sha256, end.bytes, end.sha256
    )))
}
