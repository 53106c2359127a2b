//! A runtime whose containers are tasks of the test. Each speaks the shim's protocol over a real
//! connection to the hub and does what the script of its step says, across restarts of the server.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::Arc,
    time::Duration,
};

use airside_model::{Handle, VolumeId, WorkerName};
use airside_protocol::{
    Claim, Exit, HubSays, PROTOCOL, ShimSays, ToHub, ToShim,
    codec::{self, Message as _},
};
use airside_runtime::{Capabilities, Error, Listed, Observation, PlacementSpec, Runtime};
use async_trait::async_trait;
use bytes::BytesMut;
use futures::{StreamExt as _, stream::BoxStream};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
};
use tokio_rustls::client::TlsStream;

use crate::{WAIT_TIMEOUT, tls};

/// Pause before a shim dials again.
const REDIAL_INTERVAL: Duration = Duration::from_millis(20);

/// The behaviour of one step's process.
#[derive(Clone)]
struct Script {
    may_claim: bool,
    /// The end of the process; without one it runs until it is told to stop.
    exit: Option<Exit>,
}

/// The machine that containers run on; clones share it.
#[derive(Clone)]
pub(crate) struct Machine {
    /// Port of the hub that is up.
    port: watch::Sender<u16>,
    scripts: Arc<Mutex<HashMap<String, watch::Sender<Script>>>>,
    /// Containers that were ever placed, and those that are there.
    placed: Arc<Mutex<BTreeSet<Handle>>>,
    present: Arc<Mutex<BTreeSet<Handle>>>,
    /// Everything that happened, as `verb step`.
    history: watch::Sender<Vec<String>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            port: watch::Sender::new(0),
            scripts: Arc::default(),
            placed: Arc::default(),
            present: Arc::default(),
            history: watch::Sender::default(),
        }
    }

    /// Makes shims dial another hub. Their connections to the one before are lost, as they are when
    /// a server's process ends.
    pub(crate) fn hub_is_at(&self, port: u16) {
        self.port.send_replace(port);
    }

    fn script(&self, step: &str) -> watch::Sender<Script> {
        let new = || {
            watch::Sender::new(Script {
                may_claim: true,
                exit: None,
            })
        };
        let mut scripts = self.scripts.lock();
        scripts.entry(step.to_owned()).or_insert_with(new).clone()
    }

    /// Ends the step's process, now or as soon as it runs.
    pub(crate) fn exit(&self, step: &str, exit: Exit) {
        self.script(step)
            .send_modify(|script| script.exit = Some(exit));
    }

    /// Keeps the step's shim from its claim, or lets it claim.
    pub(crate) fn allow_claim(&self, step: &str, may_claim: bool) {
        self.script(step)
            .send_modify(|script| script.may_claim = may_claim);
    }

    fn note(&self, verb: &str, step: &str) {
        self.history
            .send_modify(|history| history.push(format!("{verb} {step}")));
    }

    /// Waits until `event`, which is a verb and a step, has happened.
    pub(crate) async fn wait(&self, event: &str) {
        let mut history = self.history.subscribe();
        let happened = history.wait_for(|history| history.iter().any(|happened| happened == event));
        let waited = tokio::time::timeout(WAIT_TIMEOUT, happened).await;
        assert!(
            waited.is_ok(),
            "no `{event}` in {:?}",
            self.history.borrow()
        );
    }

    /// The steps that began, in their order; one that began twice is there twice.
    pub(crate) fn began(&self) -> Vec<String> {
        self.steps("claimed ")
    }

    pub(crate) fn stopped(&self) -> Vec<String> {
        self.steps("stopped ")
    }

    fn steps(&self, verb: &str) -> Vec<String> {
        let history = self.history.borrow();
        let steps = history.iter().filter_map(|event| event.strip_prefix(verb));
        steps.map(str::to_owned).collect()
    }

    /// Number of containers that were ever placed.
    pub(crate) fn placed(&self) -> usize {
        self.placed.lock().len()
    }
}

/// The machine as a server's runtime.
pub(crate) struct ScriptedRuntime {
    pub(crate) name: WorkerName,
    pub(crate) machine: Machine,
}

#[async_trait]
impl Runtime for ScriptedRuntime {
    fn worker(&self) -> &WorkerName {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: WAIT_TIMEOUT,
            fence_after: None,
            has_host_image: true,
            pulls_images: false,
        }
    }

    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, Error> {
        let handle = &spec.handle;
        self.machine.placed.lock().insert(handle.clone());
        if self.machine.present.lock().insert(handle.clone()) {
            let shim = Shim {
                machine: self.machine.clone(),
                step: spec.labels.step.clone(),
                handle: spec.handle.clone(),
                token: spec.claim.token.clone(),
                has_claimed: false,
                exit: None,
            };
            self.machine.note("placed", &shim.step);
            tokio::spawn(shim.run());
        }
        Ok(None)
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        futures::stream::pending().boxed()
    }

    async fn destroy(&self, handle: &Handle) -> Result<(), Error> {
        self.machine.present.lock().remove(handle);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        let present = self.machine.present.lock();
        let listed = present.iter().map(|handle| Listed {
            handle: handle.clone(),
            uid: None,
            leaving: false,
        });
        Ok(listed.collect())
    }

    async fn seal(&self, _: &Handle, _: &str, _: &VolumeId) -> Result<(), Error> {
        Ok(())
    }
}

struct Shim {
    machine: Machine,
    step: String,
    handle: Handle,
    token: String,
    has_claimed: bool,
    exit: Option<Exit>,
}

impl Shim {
    /// Dials the hub that is up until a hub needs this shim no more.
    async fn run(mut self) {
        let mut script = self.machine.script(&self.step).subscribe();
        let claims = script.wait_for(|script| script.may_claim);
        drop(claims.await.unwrap());
        while self.machine.present.lock().contains(&self.handle) {
            let port = *self.machine.port.borrow();
            if let Ok(mut hub) = HubConnection::dial(port).await
                && self.converse(&mut hub, &mut script).await.is_ok()
            {
                return;
            }
            tokio::time::sleep(REDIAL_INTERVAL).await;
        }
    }

    /// Claims, and works until the hub says that the container may go. An error is a lost
    /// connection.
    async fn converse(
        &mut self,
        hub: &mut HubConnection,
        script: &mut watch::Receiver<Script>,
    ) -> io::Result<()> {
        self.claim(hub).await?;
        let mut is_reported = false;
        let mut port = self.machine.port.subscribe();
        loop {
            let ended = self
                .exit
                .clone()
                .or_else(|| script.borrow_and_update().exit.clone());
            if let Some(exit) = ended.filter(|_| !is_reported) {
                if self.exit.is_none() {
                    self.machine.note("ended", &self.step);
                    self.exit = Some(exit.clone());
                }
                hub.say(ShimSays::Finished { exit }).await?;
                is_reported = true;
            }
            tokio::select! {
                _ = script.changed() => {}
                _ = port.changed() => return Err(io::ErrorKind::ConnectionReset.into()),
                says = hub.next() => match says? {
                    HubSays::Exit => return Ok(()),
                    HubSays::Stop { .. } if self.exit.is_none() => {
                        self.machine.note("stopped", &self.step);
                        self.exit = Some(Exit::Stopped);
                    }
                    _ => {}
                },
            }
        }
    }

    async fn claim(&mut self, hub: &mut HubConnection) -> io::Result<()> {
        let claim = Claim {
            protocol: PROTOCOL,
            handle: self.handle.clone(),
            token: self.token.clone(),
            instance: self.handle.to_string(),
            proof: None,
        };
        hub.say(ShimSays::Claim(claim)).await?;
        match hub.next().await? {
            HubSays::Claimed(_) => {}
            other => return Err(io::Error::other(format!("{other:?}"))),
        }
        let verb = if self.has_claimed {
            "reclaimed"
        } else {
            "claimed"
        };
        self.machine.note(verb, &self.step);
        self.has_claimed = true;
        hub.say(ShimSays::Started).await
    }
}

struct HubConnection {
    stream: TlsStream<TcpStream>,
    buffer: BytesMut,
}

impl HubConnection {
    async fn dial(port: u16) -> io::Result<Self> {
        let tcp = TcpStream::connect(("127.0.0.1", port)).await?;
        Ok(Self {
            stream: tls::connect(tcp).await?,
            buffer: BytesMut::new(),
        })
    }

    async fn say(&mut self, says: ShimSays) -> io::Result<()> {
        let message = ToHub::Control(says).encode();
        self.stream.write_all(&message).await?;
        self.stream.flush().await
    }

    /// The next message that is not a heartbeat.
    async fn next(&mut self) -> io::Result<HubSays> {
        loop {
            match codec::decode::<ToShim>(&mut self.buffer).map_err(io::Error::other)? {
                Some(ToShim::Control(HubSays::Heartbeat)) => {}
                Some(ToShim::Control(says)) => return Ok(says),
                Some(ToShim::Chunk(_)) => {}
                None if self.stream.read_buf(&mut self.buffer).await? == 0 => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                None => {}
            }
        }
    }
}
