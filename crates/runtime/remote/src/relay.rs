//! The way of this machine's shims to the hub. The bytes are TLS between shim and hub: this machine
//! cannot read them, and a process that dials can do only what its claim allows.

use std::{io, sync::Arc};

use airside_limits::{Activity, ConnectionPlace, Limits, Peer, Places};
use airside_model::chain;
use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::Duration,
};
use tracing::{debug, warn};

use crate::{HubAddress, link::dial};

/// Read at once: what a busy shim sends in two of TLS's records.
const AT_ONCE: usize = 32 * 1024;

/// A shim speaks first, and at once.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for a connection to the hub.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The way to the hub, and the places for those who take it.
#[derive(Clone)]
pub(crate) struct Relay {
    hub: HubAddress,
    places: Places,
}

impl Relay {
    pub(crate) fn new(hub: HubAddress, limits: Limits) -> Self {
        Self {
            hub,
            places: Places::new(limits),
        }
    }

    /// Serves until it is dropped, and every connection with it.
    pub(crate) async fn serve(self, listener: Arc<UnixListener>) {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((shim, _)) => {
                    let process = shim.peer_cred().ok().and_then(|peer| peer.pid());
                    let step = Peer::of_process(process);
                    let Some(place) = self.places.enter(step, FIRST_BYTE_TIMEOUT) else {
                        debug!("connection of a step refused: too many are open");
                        continue;
                    };
                    let serving = serve_connection(shim, self.hub.clone(), place);
                    connections.spawn(airside_tasks::named("shim's connection", serving));
                }
                Err(error) => {
                    warn!(error = %chain(&error), "connection of a shim not accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn serve_connection(shim: UnixStream, hub: HubAddress, place: ConnectionPlace) {
    let relayed = tokio::select! {
        relayed = relay(shim, &hub, place.activity()) => relayed,
        reason = place.activity().ended() => {
            return debug!(%reason, "connection of a step closed");
        }
    };
    if let Err(error) = relayed {
        debug!(%hub, error = %chain(&error), "connection of a shim ended");
    }
}

/// Passes bytes on until either side ends: neither says anything after the other is gone. The hub
/// is not dialled for a process that says nothing, and closes the connection itself if the process
/// does not claim.
async fn relay(mut shim: UnixStream, hub: &HubAddress, activity: &Activity) -> io::Result<()> {
    let mut first = BytesMut::with_capacity(AT_ONCE);
    if shim.read_buf(&mut first).await? == 0 {
        return Ok(());
    }
    activity.keep();
    let hub = tokio::time::timeout(DIAL_TIMEOUT, dial(hub));
    let hub = hub.await.map_err(|_| io::ErrorKind::TimedOut)??;
    let (from_shim, to_shim) = shim.into_split();
    let (from_hub, mut to_hub) = hub.into_split();
    to_hub.write_all(&first).await?;
    drop(first);
    tokio::select! {
        ended = pass(from_shim, to_hub) => ended,
        ended = pass(from_hub, to_shim) => ended,
    }
}

async fn pass(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut from = BufReader::with_capacity(AT_ONCE, from);
    tokio::io::copy_buf(&mut from, &mut to).await?;
    to.shutdown().await
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    struct Served {
        hub: TcpListener,
        socket: std::path::PathBuf,
        _dir: tempfile::TempDir,
        _serving: tokio::task::JoinHandle<()>,
    }

    async fn serve(overall: usize, per_peer: usize) -> Served {
        let hub = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HubAddress {
            host: "127.0.0.1".to_owned(),
            port: hub.local_addr().unwrap().port(),
        };
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("hub.sock");
        let listener = Arc::new(UnixListener::bind(&socket).unwrap());
        let limits = Limits {
            overall,
            per_peer,
            grace: Duration::ZERO,
        };
        let relay = Relay::new(address, limits);
        Served {
            hub,
            socket,
            _dir: dir,
            _serving: tokio::spawn(relay.serve(listener)),
        }
    }

    impl Served {
        async fn connect(&self) -> UnixStream {
            UnixStream::connect(&self.socket).await.unwrap()
        }
    }

    /// Returns true if the relay has closed the connection.
    async fn is_closed(stream: &mut UnixStream) -> bool {
        !matches!(stream.read(&mut [0]).await, Ok(1..))
    }

    #[tokio::test]
    async fn hostile_silence_at_the_relay_gives_way_and_never_meets_the_hub() {
        let served = serve(8, 3).await;
        let mut silent = Vec::new();
        for _ in 0..50 {
            silent.push(served.connect().await);
        }
        for stream in &mut silent[..47] {
            assert!(is_closed(stream).await);
        }
        let mut shim = served.connect().await;
        shim.write_all(b"hello").await.unwrap();
        let (mut first, _) = served.hub.accept().await.unwrap();
        let mut heard = [0; 5];
        first.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello", "only the shim that speaks is passed on");
        first.write_all(b"claim").await.unwrap();
        shim.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"claim");
    }

    #[tokio::test]
    async fn hostile_steps_take_no_more_than_their_places() {
        let served = serve(8, 2).await;
        let mut spoken = Vec::new();
        for _ in 0..2 {
            let mut stream = served.connect().await;
            stream.write_all(b"hello").await.unwrap();
            spoken.push((stream, served.hub.accept().await.unwrap()));
        }
        let mut refused = served.connect().await;
        assert!(is_closed(&mut refused).await, "those that speak stay");
        drop(spoken.pop());
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_silence_at_the_relay_ends() {
        let served = serve(8, 2).await;
        let began = tokio::time::Instant::now();
        let mut silent = served.connect().await;
        assert!(is_closed(&mut silent).await);
        assert!(began.elapsed() >= FIRST_BYTE_TIMEOUT);
    }
}
