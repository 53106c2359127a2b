//! Volume connections: inputs down, outputs up, both as verified streams.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use airside_archive::{Hasher, HashingReader, Limits};
use airside_limits::TransferPace;
use airside_model::{Handle, Quota, TeamId, VolumeId, chain};
use airside_protocol::{
    End, HubSays, Order, ShimSays, ToHub, ToShim, Transfer, codec::MAX_PAYLOAD,
};
use bytes::{Bytes, BytesMut};
use tokio::{sync::mpsc, time::Instant};
use tracing::{info, warn};

use crate::{
    Parts,
    claim::hash,
    connection::{Receiver, Sender},
    lanes::{Lanes, Lead},
    session::Sessions,
};

/// Frames read ahead of the disk.
const AHEAD: usize = 32;

/// Time for which a shim may send nothing of an output while it sends heartbeats: what packs very
/// well comes slowly.
const STALLED: Duration = Duration::from_secs(300);

/// Past this an output is a mistake, or an attack on the disk.
const LIMITS: Limits = Limits {
    bytes: 1 << 38,
    entries: 20_000_000,
};

pub(crate) struct Request {
    pub(crate) handle: Handle,
    pub(crate) session: String,
    pub(crate) volume: VolumeId,
}

impl Request {
    /// A session may touch only what its own order names. Returns the step's team.
    async fn permitted(
        &self,
        parts: &Parts,
        sessions: &Sessions,
        named: impl Fn(&Order, &VolumeId) -> bool,
    ) -> Result<TeamId, (String, bool)> {
        let valid = parts
            .store
            .session_is_valid(&self.handle, &hash(&self.session))
            .await;
        match valid {
            Ok(true) => {}
            Ok(false) => return Err(("the session is not valid, or no longer".into(), true)),
            Err(_) => return Err(("the hub cannot judge sessions at the moment".into(), true)),
        }
        let Some(slot) = sessions.get(&self.handle) else {
            return Err(("no server drives this step at the moment".into(), true));
        };
        if !named(&slot.work.order, &self.volume) {
            let why = format!("volume {} does not belong to this step", self.volume);
            return Err((why, false));
        }
        match team(parts, &self.handle).await {
            Ok(Some(team)) => Ok(team),
            Ok(None) => Err(("the step's build is gone".into(), false)),
            Err(_) => Err(("the hub cannot judge sessions at the moment".into(), true)),
        }
    }
}

fn names(transfers: &[Transfer], volume: &VolumeId) -> bool {
    transfers.iter().any(|transfer| transfer.volume == *volume)
}

pub(crate) async fn fetch(
    parts: &Parts,
    sessions: &Sessions,
    lanes: &Lanes,
    request: Request,
    mut receiver: Receiver,
    mut sender: Sender,
) {
    let permitted = request.permitted(parts, sessions, |order, volume| {
        order.image.as_ref() == Some(volume) || names(&order.fetch, volume)
    });
    let team = match permitted.await {
        Ok(team) => team,
        Err((reason, retry)) => return sender.refuse(reason, retry).await,
    };
    receiver.is_known();
    let Some(path) = parts.volumes.path(&request.volume) else {
        return sender
            .refuse(format!("volume {} is not there", request.volume), false)
            .await;
    };
    let entered = lanes.enter(team, &request.handle, &request.volume).await;
    let (Lead { turn, held }, replaced) = match entered {
        Ok(entered) => entered,
        Err(busy) => return sender.refuse(busy, true).await,
    };
    let (chunks, mut ready) = mpsc::channel(AHEAD);
    let packing = turn.run(move || {
        let _held = held;
        let mut writer = Hasher::new(ChunkWriter {
            chunks,
            buffer: BytesMut::new(),
        });
        airside_archive::pack(&path, &mut writer).map_err(io::Error::other)?;
        writer.flush()?;
        Ok::<_, io::Error>(writer.finish().1)
    });
    let sent = async {
        sender.say(HubSays::Begin).await?;
        while let Some(chunk) = ready.recv().await {
            sender.send(&ToShim::Chunk(chunk)).await?;
        }
        let digest = packing.await.map_err(io::Error::other)??;
        sender
            .say(HubSays::End(End {
                sha256: digest.sha256,
                bytes: digest.bytes,
            }))
            .await
    };
    let Some(sent) = replaced.run_until_cancelled(sent).await else {
        return info!(handle = %request.handle, volume = %request.volume, "volume fetch restarted");
    };
    match sent {
        Ok(()) => info!(handle = %request.handle, volume = %request.volume, "volume fetched"),
        Err(error) => {
            warn!(
                handle = %request.handle, volume = %request.volume, error = %chain(&error),
                "volume not fetched"
            );
        }
    }
}

pub(crate) async fn upload(
    parts: &Parts,
    sessions: &Sessions,
    lanes: &Lanes,
    request: Request,
    mut receiver: Receiver,
    mut sender: Sender,
) {
    let permitted = request.permitted(parts, sessions, |order, volume| {
        names(&order.upload, volume)
    });
    let team = match permitted.await {
        Ok(team) => team,
        Err((reason, retry)) => return sender.refuse(reason, retry).await,
    };
    receiver.is_known();
    if parts.volumes.path(&request.volume).is_some() {
        let _ = sender.say(HubSays::Stored).await;
        return;
    }
    let entered = lanes.enter(team, &request.handle, &request.volume).await;
    let (lead, replaced) = match entered {
        Ok(entered) => entered,
        Err(busy) => return sender.refuse(busy, true).await,
    };
    if sender.say(HubSays::Begin).await.is_err() {
        return;
    }
    let received = receive(parts, &request, team, receiver, lead);
    let Some(received) = replaced.run_until_cancelled(received).await else {
        return info!(handle = %request.handle, volume = %request.volume, "volume upload restarted");
    };
    match received {
        Ok(bytes) => {
            info!(handle = %request.handle, volume = %request.volume, bytes, "volume stored");
            let _ = sender.say(HubSays::Stored).await;
        }
        Err(error) => {
            warn!(
                handle = %request.handle, volume = %request.volume, error = %chain(&error),
                "volume not stored"
            );
            // Damage on the way is worth another try; a tree that cannot be unpacked is not.
            let retry = error.kind() != io::ErrorKind::InvalidInput;
            sender
                .refuse(
                    format!("the output could not be stored: {}", chain(&error)),
                    retry,
                )
                .await;
        }
    }
}

/// Returns the team whose step this is.
async fn team(parts: &Parts, handle: &Handle) -> Result<Option<TeamId>, airside_store::Error> {
    let Some(container) = parts.store.container(handle).await? else {
        return Ok(None);
    };
    let build = parts.store.build(container.build).await?;
    Ok(build.map(|build| build.team))
}

/// An output may not be larger than what its team may still have.
async fn limits(parts: &Parts, team: TeamId) -> io::Result<Limits> {
    let store = &parts.store;
    let room = if store.quotas().has(Quota::Volumes) {
        let room = store.quota_room(team, Quota::Volumes).await;
        room.map_err(io::Error::other)?
    } else {
        None
    };
    Ok(Limits {
        bytes: LIMITS.bytes.min(room.unwrap_or(u64::MAX)),
        ..LIMITS
    })
}

/// Receives the content of a volume, unpacks it, and keeps it if it came whole. Returns its size.
async fn receive(
    parts: &Parts,
    request: &Request,
    team: TeamId,
    receiver: Receiver,
    lead: Lead,
) -> io::Result<u64> {
    let Lead { turn, held } = lead;
    let (chunks, ready) = mpsc::channel::<Bytes>(AHEAD);
    let limits = limits(parts, team).await?;
    let receiving = parts
        .volumes
        .receive(&request.volume)
        .map_err(io::Error::other)?;
    let unpacking = turn.run(move || {
        let _held = held;
        let mut reader = HashingReader::new(ChunkReader {
            chunks: ready,
            current: Bytes::new(),
        });
        let unpacked = receiving.unpack(&mut reader, &limits);
        // The hash is over everything sent, whatever the archive's own end.
        io::copy(&mut reader, &mut io::sink())?;
        unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok::<_, io::Error>((receiving, reader.finish().1))
    });
    let end = pass_chunks(receiver, chunks).await?;
    let (receiving, digest) = unpacking.await.map_err(io::Error::other)??;
    let end = end.ok_or_else(|| io::Error::other("the stream was cut short"))?;
    if (end.sha256.as_str(), end.bytes) != (digest.sha256.as_str(), digest.bytes) {
        return Err(io::Error::other("the stream was damaged on its way"));
    }
    airside_tasks::blocking("volume of an upload", move || receiving.commit())
        .await
        .map_err(io::Error::other)?
        .map_err(io::Error::other)?;
    Ok(digest.bytes)
}

/// Passes the chunks of an upload on to the thread that unpacks them, and returns the shim's
/// closing message. There is none if that thread has given up; its own result then says why.
async fn pass_chunks(
    mut receiver: Receiver,
    chunks: mpsc::Sender<Bytes>,
) -> io::Result<Option<End>> {
    let mut pace = TransferPace::new(STALLED);
    let mut since = Instant::now();
    loop {
        let deadline = airside_model::deadline_after(since, pace.left());
        let message = tokio::time::timeout_at(deadline, receiver.next());
        let message = message.await.map_err(|_| too_slow())??;
        match message {
            ToHub::Chunk(chunk) => {
                pace.moved(since.elapsed(), chunk.len());
                if chunks.send(chunk).await.is_err() {
                    return Ok(None);
                }
                since = Instant::now();
            }
            ToHub::Control(ShimSays::End(end)) => return Ok(Some(end)),
            ToHub::Control(ShimSays::Heartbeat) => {}
            other => {
                return Err(io::Error::other(format!(
                    "{other:?} does not belong in an upload"
                )));
            }
        }
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the output comes too slowly")
}

/// Cuts what is written into frames for the async side.
struct ChunkWriter {
    chunks: mpsc::Sender<Bytes>,
    buffer: BytesMut,
}

impl Write for ChunkWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(data);
        while self.buffer.len() >= MAX_PAYLOAD {
            self.send(MAX_PAYLOAD)?;
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.buffer.len() {
            0 => Ok(()),
            length => self.send(length),
        }
    }
}

impl ChunkWriter {
    fn send(&mut self, length: usize) -> io::Result<()> {
        let chunk = self.buffer.split_to(length).freeze();
        self.chunks
            .blocking_send(chunk)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads what the async side receives; its end is the end of the file.
struct ChunkReader {
    chunks: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}
