//! The rules on an agent's machine: an agent in another process, with a network of its own out of
//! which it can dial and into which no other can. They need root; without it these tests do
//! nothing.

#![allow(clippy::panic, reason = "a test that cannot go on has failed")]

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use airside_agents::{AdmissionError, AgentOffer, Agents, WorkerRegister};
use airside_conformance::{
    CauseName, Ground, NoProofs, Site, kill_first_process, program, refused_image, shim, wait_until,
};
use airside_hub::{Hub, Proofs};
use airside_model::{Handle, InstallationId, WorkerName, WorkerState};
use airside_protocol::{AgentArrival, AgentToken};
use airside_runtime::{AnyRuntime, Image, PlacementSpec};
use airside_runtime_local::LocalRuntime;
use airside_store::{Store, WorkerKind};
use async_trait::async_trait;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

struct Elsewhere {
    /// Holds the image that steps run in.
    layout: TempDir,
    /// Holds an image in which no container can start.
    broken: TempDir,
    network: Network,
    hub: Mutex<Option<Hub>>,
    agents: Mutex<Option<Agents>>,
    machines: Mutex<HashMap<InstallationId, Machine>>,
}

/// One agent's process and its folder.
struct Machine {
    state: PathBuf,
    child: Child,
}

impl Elsewhere {
    fn offered() -> Option<Arc<dyn Site>> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let rootfs = std::env::var_os("AIRSIDE_ROOTFS")
            .expect("AIRSIDE_ROOTFS names a root file system; `make test-local` sets it");
        let (layout, broken) = (tempdir(), tempdir());
        make_layout(Path::new(&rootfs), layout.path());
        let without_proc = without_proc(Path::new(&rootfs), broken.path());
        make_layout(&without_proc, &broken.path().join("layout"));
        Some(Arc::new(Self {
            layout,
            broken,
            network: Network::make(),
            hub: Mutex::default(),
            agents: Mutex::default(),
            machines: Mutex::default(),
        }))
    }

    /// All agents of this site, served by the hub. Made anew, none of those of before is known.
    async fn agents(&self, ground: &Ground, anew: bool) -> Agents {
        let known = self.agents.lock().clone();
        if let (Some(known), false) = (known, anew) {
            return known;
        }
        let store = ground.store.clone();
        let opened = Agents::open(store.clone(), Duration::from_secs(300)).await;
        let (agents, _) = opened.expect("the store answers");
        *self.agents.lock() = Some(agents.clone());
        if let Some(hub) = self.hub.lock().as_ref() {
            hub.admit_agents(agents.door(Arc::new(Anybody(store))));
        }
        agents
    }

    /// Starts an agent, once there is a hub to dial, and waits until it has joined.
    async fn start(&self, ground: &Ground, installation: &InstallationId, agents: &Agents) {
        let Some(hub) = self.hub.lock().clone() else {
            return;
        };
        let name = name(installation);
        let folder = ground.dir.path().join(&name);
        fs::create_dir_all(&folder).expect("a folder");
        let token = AgentToken {
            name: name.clone(),
            pin: hub.pin().to_owned(),
            secret: hex::encode(rand::random::<[u8; 32]>()),
        };
        let hash = Hub::token_hash(&token.secret);
        let saved = ground.store.save_agent_token(&name, None, &[], &hash);
        saved.await.expect("the store answers");
        fs::write(folder.join("token"), token.to_string()).expect("a token");
        let log = File::create(folder.join("agent.log")).expect("a log");
        let mut command = self.network.inside(&program());
        command
            .args(["agent", "--local-processes", "400", "--hub"])
            .arg(format!("{}:{}", self.network.outside, hub.port()))
            .arg("--token")
            .arg(folder.join("token"))
            .arg("--state")
            .arg(folder.join("state"))
            .arg("--shim")
            .arg(shim())
            .stderr(log);
        let machine = Machine {
            state: folder.join("state"),
            child: command.spawn().expect("the agent starts"),
        };
        self.machines.lock().insert(installation.clone(), machine);
        let runtime = agents.runtime(&WorkerName::new(&name));
        let joined = async || runtime.is_connected();
        wait_until("the agent joins", joined).await;
    }
}

fn name(installation: &InstallationId) -> String {
    let tail: String = installation.as_str().chars().rev().take(8).collect();
    format!("agent-{tail}")
}

fn run(command: &mut Command) {
    let ended = command.status().expect("the program runs");
    assert!(ended.success(), "{command:?}: {ended}");
}

/// A register in which every agent with a token is a worker.
struct Anybody(Store);

#[async_trait]
impl WorkerRegister for Anybody {
    async fn admit(
        &self,
        offer: &AgentOffer,
        _: AgentArrival,
    ) -> Result<WorkerState, AdmissionError> {
        let kind = WorkerKind::Agent;
        let registered = self.0.register_worker(offer.worker(), None, &[], kind);
        registered.await.map_err(|_| AdmissionError::Unable)
    }
}

/// A network namespace with one way out, to an address that this machine has for it alone.
struct Network {
    name: String,
    outside: Ipv4Addr,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Network {
    fn make() -> Self {
        // The name of the link is that of its block of addresses, so that both are unique.
        for _ in 0..64 {
            let block = std::process::id() * 64 + NUMBER.fetch_add(1, Ordering::Relaxed);
            let [_, _, high, low] = (block * 4).to_be_bytes();
            let name = format!("airsd-{high}-{low}");
            let made = Command::new("ip").args(["netns", "add", &name]).output();
            if made.expect("ip runs").status.success() {
                let network = Self {
                    name,
                    outside: Ipv4Addr::new(10, 213, high, low + 1),
                };
                network.lay(Ipv4Addr::new(10, 213, high, low + 2));
                return network;
            }
        }
        panic!("no network namespace can be made");
    }

    fn lay(&self, inside: Ipv4Addr) {
        let (name, outside) = (self.name.as_str(), format!("{}/30", self.outside));
        let inside = format!("{inside}/30");
        for args in [
            &[
                "link", "add", name, "type", "veth", "peer", "name", "way-out", "netns", name,
            ][..],
            &["addr", "add", &outside, "dev", name],
            &["link", "set", name, "up"],
            &["-n", name, "addr", "add", &inside, "dev", "way-out"],
            &["-n", name, "link", "set", "way-out", "up"],
            &["-n", name, "link", "set", "lo", "up"],
        ] {
            run(Command::new("ip").args(args));
        }
        let rules = "add table inet behind; add chain inet behind in { type filter hook input priority 0; policy drop; }; \
                     add rule inet behind in ct state established,related accept; add rule inet behind in iif lo accept";
        run(self.inside("nft".as_ref()).arg(rules));
    }

    /// A program in there. Only its network is another one.
    fn inside(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name));
        command.arg(program);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
    }
}

fn tempdir() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Makes an image of a root file system.
fn make_layout(rootfs: &Path, folder: &Path) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/image");
    run(Command::new(tool).arg("layout").arg(rootfs).arg(folder));
}

/// Returns a copy of a root file system in which `/proc` is a file, so that nothing can be mounted
/// there.
fn without_proc(rootfs: &Path, folder: &Path) -> PathBuf {
    let (tree, tar) = (folder.join("tree"), folder.join("broken.tar"));
    fs::create_dir(&tree).expect("a folder");
    run(Command::new("tar")
        .arg("-xf")
        .arg(rootfs)
        .arg("-C")
        .arg(&tree));
    let proc = tree.join("proc");
    let _ = fs::remove_dir(&proc);
    fs::write(proc, "").expect("a file");
    run(Command::new("tar")
        .arg("-cf")
        .arg(&tar)
        .arg("-C")
        .arg(&tree)
        .arg("."));
    tar
}

fn layout(path: PathBuf) -> Image {
    Image::OciLayout {
        path: path.into_os_string().into_string().expect("a plain path"),
    }
}

#[async_trait]
impl Site for Elsewhere {
    async fn open(&self, ground: &Ground, installation: &InstallationId) -> AnyRuntime {
        let before = self.machines.lock().remove(installation);
        let anew = before.is_some();
        if let Some(mut machine) = before {
            machine.child.kill().expect("it is our child");
            machine.child.wait().expect("it is our child");
        }
        let agents = self.agents(ground, anew).await;
        self.start(ground, installation, &agents).await;
        agents.runtime(&WorkerName::new(name(installation)))
    }

    async fn meet(&self, hub: &Hub, ground: &Ground) {
        *self.hub.lock() = Some(hub.clone());
        let agents = self.agents(ground, false).await;
        hub.admit_agents(agents.door(Arc::new(Anybody(ground.store.clone()))));
        self.start(ground, &ground.installation, &agents).await;
    }

    fn proofs(&self) -> Arc<dyn Proofs> {
        Arc::new(NoProofs)
    }

    fn hub_ip(&self) -> IpAddr {
        self.network.outside.into()
    }

    fn image(&self) -> Image {
        layout(self.layout.path().to_owned())
    }

    fn missing_image(&self) -> (Image, String) {
        (
            layout(self.layout.path().join("no-such-image")),
            "no-such-image".to_owned(),
        )
    }

    fn cannot_arise(&self, cause: CauseName) -> Option<&'static str> {
        match cause {
            CauseName::NoRoom => Some("a machine sets no room aside for each container"),
            CauseName::Evicted => Some("no cluster moves containers here"),
            CauseName::ImageRefused
            | CauseName::OutOfMemory
            | CauseName::Killed
            | CauseName::CannotStart
            | CauseName::Pulling => None,
        }
    }

    fn provoke(&self, cause: CauseName, spec: &mut PlacementSpec) {
        if cause == CauseName::ImageRefused {
            spec.image = refused_image(self.network.outside.into());
        }
        if cause == CauseName::CannotStart {
            spec.image = layout(self.broken.path().join("layout"));
        }
    }

    async fn end_by(&self, _: CauseName, handle: &Handle) {
        kill_first_process(handle);
    }

    async fn labels(&self, _: &Handle) -> Option<BTreeMap<String, String>> {
        None
    }

    fn leave(&self, installation: &InstallationId) {
        let Some(mut machine) = self.machines.lock().remove(installation) else {
            return;
        };
        let _ = kill_process(Pid::from_child(&machine.child), Signal::TERM);
        let _ = machine.child.wait();
        if std::thread::panicking() {
            let log = machine.state.with_file_name("agent.log");
            eprintln!("{}", fs::read_to_string(log).unwrap_or_default());
        }
        if let Ok(own) = fs::read_to_string(machine.state.join("installation")) {
            LocalRuntime::leave(&InstallationId::new(own));
        }
    }
}

airside_conformance::rules!(Elsewhere::offered());
