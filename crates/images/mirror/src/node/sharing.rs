//! Blobs from node to node: the book of holders, kept by one agent for each blob, and reads from
//! containerd's store.
//!
//! ```text
//!                               ┌──▶ fetch it for all
//! agent ──▶ the blob's keeper ──┼──▶ read it from the node that has it
//!                               └──▶ wait
//! ```
//!
//! Agents trust each other by [`Proof`] alone. An agent that asks for a caller has asked the
//! registry before if that caller may have the blob.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Client, Reply};
use airside_containerd::Containerd;
use airside_model::chain;
use airside_oci::Digest;
use http::{HeaderMap, Method, header};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    peers::Peers,
    proof::Proof,
    waves::{Turn, Waves},
};

/// Time for which a request for a turn stays open.
const OPEN: Duration = Duration::from_secs(10);
/// Wait after which an agent fetches for itself: the runtime gives up a pull without progress after
/// five minutes.
const TURN_TIMEOUT: Duration = Duration::from_secs(240);
/// Pause between two reports that a turn is still being used.
const RENEW: Duration = Duration::from_secs(15);
/// Time for the runtime to make a blob part of its store.
const LANDING: Duration = Duration::from_secs(60);
const LANDING_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct Sharing {
    pub(crate) peers: Peers,
    pub(crate) proof: Proof,
    pub(crate) runtime: Containerd,
    client: Client,
    waves: Mutex<Waves>,
    changed: Notify,
}

impl Sharing {
    pub(crate) fn new(peers: Peers, proof: Proof, runtime: Containerd, client: Client) -> Self {
        Self {
            peers,
            proof,
            runtime,
            client,
            waves: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Returns the turn by the book kept here; stays open while it is to wait.
    pub(crate) async fn turn_here(&self, digest: &Digest, who: SocketAddr) -> Turn {
        let until = Instant::now() + OPEN;
        loop {
            let changed = self.changed.notified();
            let turn = self.waves.lock().turn(digest, who, Instant::now());
            let left = until.saturating_duration_since(Instant::now());
            if turn != Turn::Wait || left.is_zero() {
                return turn;
            }
            let _ = tokio::time::timeout(left, changed).await;
        }
    }

    pub(crate) fn ended_here(&self, digest: &Digest, who: SocketAddr, has: bool) {
        self.waves.lock().ended(digest, who, has);
        self.changed.notify_waiters();
    }

    /// This node's turn with a blob, once it has one.
    pub(crate) async fn turn(&self, digest: &Digest) -> Turn {
        let until = Instant::now() + TURN_TIMEOUT;
        loop {
            match self.ask_keeper(digest).await {
                Ok(Turn::Wait) if Instant::now() < until => {}
                Ok(Turn::Wait) => return Turn::Fetch,
                Ok(turn) => return turn,
                Err(error) => {
                    tracing::debug!(%digest, error = %chain(&error), "turn for a blob not granted: the node that grants it did not answer");
                    return Turn::Fetch;
                }
            }
        }
    }

    async fn ask_keeper(&self, digest: &Digest) -> io::Result<Turn> {
        let (keeper, own) = (self.peers.keeper(digest), self.peers.own());
        if keeper == own {
            return Ok(self.turn_here(digest, own).await);
        }
        let address = format!("http://{keeper}/v1/turns/{digest}?who={own}");
        let answer = self.send(&Method::POST, &address).await?;
        let text = answer
            .into_body()
            .collect()
            .await
            .map_err(io::Error::other)?;
        serde_json::from_slice(&text.to_bytes()).map_err(io::Error::other)
    }

    pub(crate) async fn ended(&self, digest: &Digest, has: bool) {
        let (keeper, own) = (self.peers.keeper(digest), self.peers.own());
        if keeper == own {
            return self.ended_here(digest, own, has);
        }
        let address = format!("http://{keeper}/v1/ended/{digest}?who={own}&has={has}");
        if let Err(error) = self.send(&Method::POST, &address).await {
            tracing::debug!(%digest, error = %chain(&error), "end of a turn for a blob not reported");
        }
    }

    /// Reads a blob from another node.
    pub(crate) async fn read(&self, peer: SocketAddr, digest: &Digest) -> io::Result<Reply> {
        let address = format!("http://{peer}/v1/blobs/{digest}");
        self.send(&Method::GET, &address).await
    }

    async fn send(&self, method: &Method, address: &str) -> io::Result<Reply> {
        let token = self.proof.own().await;
        let token = token.ok_or_else(|| io::Error::other("this agent has no token for others"))?;
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, token)]);
        let answer = self.client.send(method, address, &headers).await;
        let answer = answer.map_err(io::Error::other)?;
        let status = answer.status();
        if status.is_success() {
            Ok(answer)
        } else {
            Err(io::Error::other(format!("the answer is {status}")))
        }
    }

    /// Returns true if the runtime has made the blob part of its store.
    async fn landed(&self, digest: &Digest) -> bool {
        let until = Instant::now() + LANDING;
        while Instant::now() < until {
            if let Ok(Some(_)) = self.runtime.blob_size(digest).await {
                return true;
            }
            tokio::time::sleep(LANDING_POLL_INTERVAL).await;
        }
        false
    }
}

/// A turn that is being used: renewed until it ends, and ended however it ends.
pub(crate) struct Leg {
    sharing: Arc<Sharing>,
    digest: Digest,
    renewal: tokio::task::JoinHandle<()>,
    is_whole: AtomicBool,
}

impl Leg {
    pub(crate) fn start(sharing: Arc<Sharing>, digest: Digest) -> Self {
        let (shared, blob) = (sharing.clone(), digest.clone());
        let renewal = airside_tasks::spawn("turn of a blob", async move {
            loop {
                tokio::time::sleep(RENEW).await;
                let _ = shared.ask_keeper(&blob).await;
            }
        });
        Self {
            sharing,
            digest,
            renewal,
            is_whole: AtomicBool::new(false),
        }
    }

    /// Reports the end of a transfer; `is_whole` if all of the blob went through.
    pub(crate) fn finish(&self, is_whole: bool) {
        self.is_whole.fetch_or(is_whole, Ordering::Relaxed);
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        let (sharing, digest) = (self.sharing.clone(), self.digest.clone());
        let is_whole = self.is_whole.load(Ordering::Relaxed);
        let renewal = self.renewal.abort_handle();
        airside_tasks::spawn("end of a turn", async move {
            let has = is_whole && sharing.landed(&digest).await;
            renewal.abort();
            sharing.ended(&digest, has).await;
        });
    }
}
