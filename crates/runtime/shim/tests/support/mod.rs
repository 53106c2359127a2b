//! A small hub and the real shim as an ordinary process that dials it.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use airside_model::{Handle, VolumeId, event::Source};
use airside_protocol::{
    Claim, Claimed, Executable, Exit, HubSays, Order, Output, ShimSays, ToHub, ToShim, Transfer,
    codec::{self, Message},
    env,
};
use bytes::BytesMut;
use rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

pub(crate) const HANDLE: &str = "s-test";
pub(crate) const TOKEN: &str = "the-secret-token";
pub(crate) const SESSION: &str = "the-session";

/// Nothing in these tests takes this long unless it never happens.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Hub {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    pub(crate) pin: String,
}

impl Hub {
    pub(crate) async fn start() -> Self {
        let certified = rcgen::generate_simple_self_signed(vec!["hub".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let certificate = certified.cert.der().clone();
        let parsed = rustls::server::ParsedCertificate::try_from(&certificate).unwrap();
        let pin = hex::encode(Sha256::digest(parsed.subject_public_key_info().as_ref()));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key.into())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            pin,
        }
    }

    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    pub(crate) async fn accept_tcp(&self) -> TcpStream {
        timeout(TEST_TIMEOUT, self.listener.accept())
            .await
            .expect("a connection")
            .unwrap()
            .0
    }

    pub(crate) async fn try_accept(&self) -> std::io::Result<Connection> {
        let tcp = self.accept_tcp().await;
        let stream = self.acceptor.accept(tcp).await?;
        Ok(Connection {
            stream,
            buffer: BytesMut::new(),
        })
    }

    pub(crate) async fn accept(&self) -> Connection {
        self.try_accept().await.unwrap()
    }

    /// Accepts a control connection and answers its claim.
    pub(crate) async fn claimed(&self, order: &Order, output_received: u64) -> (Connection, Claim) {
        let mut connection = self.accept().await;
        let claim = connection.claim().await;
        let claimed = Claimed {
            session: SESSION.into(),
            epoch: 1,
            output_received,
            order: order.clone(),
        };
        connection.say(HubSays::Claimed(Box::new(claimed))).await;
        (connection, claim)
    }
}

pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: BytesMut,
}

impl Connection {
    /// The next message; nothing once the shim has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<ToHub> {
        loop {
            if let Some(message) = codec::decode(&mut self.buffer).unwrap() {
                return Some(message);
            }
            let read = timeout(TEST_TIMEOUT, self.stream.read_buf(&mut self.buffer));
            match read.await.expect("the shim falls silent") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next message that is not a heartbeat.
    pub(crate) async fn hear(&mut self) -> ToHub {
        loop {
            match self.next().await.expect("a message") {
                ToHub::Control(ShimSays::Heartbeat) => {}
                message => return message,
            }
        }
    }

    pub(crate) async fn claim(&mut self) -> Claim {
        match self.hear().await {
            ToHub::Control(ShimSays::Claim(claim)) => claim,
            other => panic!("a claim, not {other:?}"),
        }
    }

    pub(crate) async fn say(&mut self, says: HubSays) {
        self.send(ToShim::Control(says)).await;
    }

    pub(crate) async fn send(&mut self, message: ToShim) {
        self.stream.write_all(&message.encode()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    pub(crate) async fn started(&mut self) {
        assert_eq!(self.hear().await, ToHub::Control(ShimSays::Started));
    }

    /// Collects output until the result comes.
    pub(crate) async fn finish(&mut self) -> Finished {
        let mut finished = Finished::default();
        loop {
            match self.hear().await {
                ToHub::Output(output) => finished.take(output),
                ToHub::Control(ShimSays::Started) => finished.started = true,
                ToHub::Control(ShimSays::Finished { exit }) => {
                    finished.exit = Some(exit);
                    return finished;
                }
                other => panic!("{other:?} out of turn"),
            }
        }
    }

    /// Reads output until `wanted` bytes have come.
    pub(crate) async fn output(&mut self, finished: &mut Finished, wanted: usize) {
        while finished.all.len() < wanted {
            match self.hear().await {
                ToHub::Output(output) => finished.take(output),
                ToHub::Control(ShimSays::Started) => finished.started = true,
                other => panic!("{other:?} out of turn"),
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) started: bool,
    pub(crate) first: Option<u64>,
    pub(crate) all: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Option<Exit>,
}

impl Finished {
    /// Output must come without gap or overlap.
    fn take(&mut self, output: Output) {
        let first = *self.first.get_or_insert(output.offset);
        assert_eq!(output.offset, first + self.all.len() as u64);
        self.all.extend_from_slice(&output.data);
        match output.source {
            Source::Stdout => self.stdout.extend_from_slice(&output.data),
            Source::Stderr => self.stderr.extend_from_slice(&output.data),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

/// The shim, with a folder of its own. Ended with the test.
pub(crate) struct Shim {
    child: Child,
    pub(crate) folder: TempDir,
}

impl Shim {
    pub(crate) fn start(hub: &Hub) -> Self {
        Self::start_with(&hub.address(), &hub.pin, &[])
    }

    pub(crate) fn start_with(hub: &str, pin: &str, environment: &[(&str, &str)]) -> Self {
        Self::spawn(Command::new(binary()), hub, pin, environment)
    }

    /// Starts a shim as first process of a process namespace of its own, as in a container.
    pub(crate) fn start_first(hub: &Hub) -> Self {
        Self::start_first_with(hub, &[])
    }

    pub(crate) fn start_first_with(hub: &Hub, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new("unshare");
        command
            .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
            .arg(binary());
        Self::spawn(command, &hub.address(), &hub.pin, environment)
    }

    fn spawn(mut command: Command, hub: &str, pin: &str, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = command
            .env(env::HUB, hub)
            .env(env::HUB_PIN, pin)
            .env(env::HANDLE, HANDLE)
            .env(env::TOKEN, TOKEN)
            .env(env::STATE, folder.path().join("state"))
            .envs(environment.iter().copied())
            .stderr(Stdio::from(
                std::fs::File::create(folder.path().join("log")).unwrap(),
            ))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until the shim leaves.
    pub(crate) async fn left(mut self) -> (ExitStatus, String) {
        let (status, shim) = timeout(
            TEST_TIMEOUT,
            tokio::task::spawn_blocking(move || (self.child.wait().unwrap(), self)),
        )
        .await
        .expect("the shim leaves")
        .unwrap();
        (status, shim.log())
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_airside-shim"))
}

/// `sh -c script` in `dir`.
pub(crate) fn script(dir: &Path, script: &str) -> Order {
    Order {
        run: Executable::Path("sh".into()),
        args: vec!["-c".into(), script.into()],
        env: vec![],
        dir: dir.to_str().unwrap().into(),
        user: None,
        tty: None,
        stdin: None,
        image: None,
        fetch: vec![],
        make_dirs: vec![],
        mounted: Vec::new(),
        hermetic: false,
        upload: vec![],
        fence_after_seconds: 60,
    }
}

pub(crate) fn transfer(volume: &str, path: &Path) -> Transfer {
    Transfer {
        volume: VolumeId::new(volume),
        path: path.to_str().unwrap().into(),
    }
}

/// Runs an order to its end with nothing in the way.
pub(crate) async fn run(order: impl FnOnce(&Path) -> Order) -> Finished {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = order(shim.folder.path());
    let (mut control, claim) = hub.claimed(&order, 0).await;
    assert_eq!(
        (claim.handle, claim.token.as_str()),
        (Handle::new(HANDLE), TOKEN)
    );
    let finished = control.finish().await;
    control.say(HubSays::Committed).await;
    control.say(HubSays::Exit).await;
    let (status, log) = shim.left().await;
    assert!(status.success(), "{log}");
    finished
}

/// Waits for something that will be so before long.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
