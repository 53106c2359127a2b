//! Accepts connections and hands each to what its first message asks for.

use std::{fmt::Display, io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use airside_limits::{ConnectionPlace, Files, Peer as Counted, Places};
use airside_model::{Handle, chain};
use airside_protocol::{ShimSays, ToHub};
use parking_lot::RwLock;
use tokio::{
    io::BufReader,
    net::{TcpListener, UnixListener},
    time::Instant,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use crate::{
    AgentService, AgentWire, Error, HubIdentity, Parts, Session, Work, claim,
    connection::{self, AnyWire, Receiver, Sender, Wire},
    hijack,
    lanes::Lanes,
    session::Sessions,
    transfer,
};

/// A peer that has sent no request by then is cut off.
const GREETING: Duration = Duration::from_secs(10);

/// Two of TLS's records, which are what a shim that says much sends.
const READ_AT_ONCE: usize = 32 * 1024;

/// A handle on the running hub; clones share it.
#[derive(Clone)]
pub struct Hub {
    address: SocketAddr,
    pin: Arc<str>,
    server: Server,
    shutdown: CancellationToken,
}

/// Time for which the hub waits for a port that another process will free soon.
const PORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Listens at an address. Whatever a server was starting when it was killed may have its ports for
/// a moment longer, and the next server waits for that.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let deadline = Instant::now() + PORT_TIMEOUT;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                tokio::time::sleep(PORT_TIMEOUT / 50).await;
            }
            bound => return bound,
        }
    }
}

impl Hub {
    /// Listens, and serves until `shutdown`.
    pub async fn start(
        address: SocketAddr,
        identity: &HubIdentity,
        parts: Parts,
        shutdown: CancellationToken,
    ) -> Result<Self, Error> {
        let acceptor = TlsAcceptor::from(Arc::new(identity.server_config()?));
        let failed = |source| Error::Listen { address, source };
        let listener = listen(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let server = Server {
            parts,
            sessions: Sessions::default(),
            agents: Arc::default(),
            strangers: Places::new(Files::now().unclaimed()),
            transfers: Arc::default(),
            acceptor,
        };
        let hub = Self {
            address,
            pin: identity.pin().into(),
            server,
            shutdown,
        };
        hub.serve(Listener::Tcp(listener));
        Ok(hub)
    }

    /// Listens at a socket in the file system too: steps on this machine have its folder mounted,
    /// and need no network to reach the hub. What an earlier server left at the path is replaced.
    pub fn listen_at(&self, socket: &Path) -> Result<(), Error> {
        let bound = airside_protocol::bind_hub_socket(socket).and_then(UnixListener::from_std);
        let listener = bound.map_err(|source| Error::Socket {
            path: socket.to_owned(),
            source,
        })?;
        self.serve(Listener::Unix(listener));
        Ok(())
    }

    /// Lets these serve the agents that connect. Agents that connect earlier are asked to come
    /// back.
    pub fn admit_agents(&self, agents: Arc<dyn AgentService>) {
        *self.server.agents.write() = Some(agents);
    }

    fn serve(&self, listener: Listener) {
        let (server, listener) = (self.server.clone(), Arc::new(listener));
        let shutdown = self.shutdown.clone();
        airside_tasks::supervise("hub", &self.shutdown, move || {
            server.clone().run(listener.clone(), shutdown.clone())
        });
    }

    /// Returns the address at which the hub listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Hex SHA-256 of the hub's public key.
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// Hash under which tokens are stored.
    pub fn token_hash(token: &str) -> String {
        claim::hash(token)
    }

    /// Takes charge of a step: its shim, now or when it comes, gets this work.
    pub fn attach(&self, handle: Handle, work: Work) -> Session {
        self.server.sessions.attach(handle, work)
    }

    /// Returns true if a driver is in charge of the step, or a session of its kept container.
    pub fn is_attached(&self, handle: &Handle) -> bool {
        self.server.sessions.get(handle).is_some()
    }

    /// Ends the stay of a shim that was kept: see [`Session::keep`].
    pub fn let_go(&self, handle: &Handle) {
        if let Some(slot) = self.server.sessions.get(handle) {
            slot.let_go.cancel();
        }
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.server.sessions
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    async fn accept(&self) -> io::Result<(AnyWire, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok((buffered(stream), Peer::At(address)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
                Ok((buffered(stream), Peer::Here(Counted::of_process(process))))
            }
        }
    }
}

/// TLS asks for a few kilobytes at a time; the kernel is asked for more.
fn buffered(stream: impl Wire + 'static) -> AnyWire {
    Box::new(BufReader::with_capacity(READ_AT_ONCE, stream))
}

/// The origin of a connection, for the log.
#[derive(Clone, Copy)]
enum Peer {
    At(SocketAddr),
    Here(Counted),
}

impl From<Peer> for Counted {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::At(address) => address.into(),
            Peer::Here(step) => step,
        }
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At(address) => address.fmt(f),
            Self::Here(_) => f.write_str("this machine"),
        }
    }
}

#[derive(Clone)]
struct Server {
    parts: Parts,
    sessions: Sessions,
    agents: Arc<RwLock<Option<Arc<dyn AgentService>>>>,
    /// Connections that have not shown yet who they are.
    strangers: Places,
    transfers: Arc<Lanes>,
    acceptor: TlsAcceptor,
}

impl Server {
    async fn run(self, listener: Arc<Listener>, shutdown: CancellationToken) {
        let tasks = TaskTracker::new();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let Some(place) = self.strangers.enter(peer.into(), GREETING) else {
                            debug!(%peer, "connection to the hub refused: too many strangers");
                            continue;
                        };
                        let (server, shutdown) = (self.clone(), shutdown.clone());
                        tasks.spawn(airside_tasks::named("hub connection", async move {
                            shutdown.run_until_cancelled(server.serve(stream, peer, place)).await;
                        }));
                    }
                    Err(error) => {
                        warn!(error = %chain(&error), "connection to the hub not accepted");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        tasks.close();
        tasks.wait().await;
    }

    async fn serve(self, stream: AnyWire, peer: Peer, place: ConnectionPlace) {
        let activity = place.activity().clone();
        let greeting = tokio::time::timeout(GREETING, self.greet(stream, place));
        let greeted = tokio::select! {
            greeted = greeting => greeted,
            ended = activity.ended() => return debug!(%peer, reason = %ended, "peer did not greet"),
        };
        match greeted {
            Ok(Ok((message, receiver, sender))) => self.dispatch(message, receiver, sender).await,
            Ok(Err(error)) => debug!(%peer, error = %chain(&error), "peer did not greet"),
            Err(_) => debug!(%peer, "peer did not greet in time"),
        }
    }

    async fn dispatch(self, message: ToHub, mut receiver: Receiver, mut sender: Sender) {
        receiver.is_judged();
        match message {
            ToHub::Control(ShimSays::Claim(claim)) => {
                claim::serve(&self.parts, &self.sessions, claim, receiver, sender).await;
            }
            ToHub::Control(ShimSays::Fetch {
                handle,
                session,
                volume,
            }) => {
                let request = transfer::Request {
                    handle,
                    session,
                    volume,
                };
                self.fetch(request, receiver, sender).await;
            }
            ToHub::Control(ShimSays::Upload {
                handle,
                session,
                volume,
            }) => {
                let request = transfer::Request {
                    handle,
                    session,
                    volume,
                };
                self.upload(request, receiver, sender).await;
            }
            ToHub::Control(ShimSays::Answer {
                handle,
                session,
                id,
            }) => {
                let answered = hijack::Answered {
                    handle,
                    session,
                    id,
                };
                hijack::answer(&self.parts, &self.sessions, answered, receiver, sender).await;
            }
            ToHub::Control(ShimSays::Join(join)) => {
                let agents = self.agents.read().clone();
                let wire = AgentWire::new(receiver, sender);
                match agents {
                    Some(agents) => agents.serve(*join, wire).await,
                    None => wire.refuse("this server takes no agents yet", true).await,
                }
            }
            _ => {
                sender
                    .refuse(
                        "a connection begins with a claim, a fetch, an upload, an answer or a join",
                        false,
                    )
                    .await
            }
        }
    }

    async fn fetch(self, request: transfer::Request, receiver: Receiver, sender: Sender) {
        let (parts, sessions) = (&self.parts, &self.sessions);
        transfer::fetch(parts, sessions, &self.transfers, request, receiver, sender).await;
    }

    async fn upload(self, request: transfer::Request, receiver: Receiver, sender: Sender) {
        let (parts, sessions) = (&self.parts, &self.sessions);
        transfer::upload(parts, sessions, &self.transfers, request, receiver, sender).await;
    }

    async fn greet(
        &self,
        stream: AnyWire,
        place: ConnectionPlace,
    ) -> io::Result<(ToHub, Receiver, Sender)> {
        let stream = self.acceptor.accept(stream).await?;
        // A handshake is more than silence is.
        place.activity().awaits(GREETING);
        let (mut receiver, sender) = connection::split(stream, place);
        let message = receiver.next().await?;
        Ok((message, receiver, sender))
    }
}
