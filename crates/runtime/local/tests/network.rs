//! The network of local steps, with an outside that the test makes itself.

#![allow(
    unsafe_code,
    reason = "a socket of another namespace is opened between fork and exec"
)]
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{
    fs,
    io::Read,
    net::TcpListener,
    process::Command,
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
};

use airside_runtime::{Image, Runtime};
use airside_runtime_local::{HostAccess, MetadataAccess};
use common::{Machine, gone, have};
use rustix::thread::UnshareFlags;

/// Addresses for documentation, which no machine has.
const NEAR: &str = "203.0.113.1";
const FAR: &str = "203.0.113.2";

/// Another machine, as far as this one can tell: a network with a listener in it, which lives in a
/// thread and goes with it.
struct Outside {
    port: u16,
    connected_from: Receiver<String>,
    _end: Sender<()>,
    _thread: JoinHandle<()>,
}

impl Outside {
    fn new() -> Self {
        let near = format!("out{}", std::process::id());
        let (said, heard) = channel();
        let (tell, connected_from) = channel();
        let (end, ended) = channel::<()>();
        let thread = thread::spawn({
            let near = near.clone();
            move || far_end(&near, &said, &tell, &ended)
        });
        let port = heard.recv().unwrap();
        ip(&format!("addr add {NEAR}/30 dev {near}"));
        ip(&format!("link set {near} up"));
        Self {
            port,
            connected_from,
            _end: end,
            _thread: thread,
        }
    }
}

fn far_end(near: &str, said: &Sender<u16>, tell: &Sender<String>, ended: &Receiver<()>) {
    // SAFETY: it concerns this thread alone, which holds no sockets.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
    // Programs that this thread starts are in its network. The other end goes to the machine's,
    // where the test's first thread is.
    let machine = std::process::id();
    ip(&format!(
        "link add far type veth peer name {near} netns {machine}"
    ));
    ip(&format!("addr add {FAR}/30 dev far"));
    ip("link set far up");
    let listener = TcpListener::bind((FAR, 0)).unwrap();
    said.send(listener.local_addr().unwrap().port()).unwrap();
    let (mut stream, from) = listener.accept().unwrap();
    tell.send(from.ip().to_string()).unwrap();
    let _ = stream.read(&mut [0]);
    let _ = ended.recv();
}

fn ip(what: &str) {
    let status = Command::new("ip").args(what.split(' ')).status().unwrap();
    assert!(status.success(), "ip {what}");
}

/// A step reaches others through the machine, under its address; the machine itself it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_leaves_through_the_machine_and_does_not_reach_it() {
    let Some(machine) = Machine::new("network") else {
        return;
    };
    if !have(&["nft", "ip", "bash"]) {
        return;
    }
    let runtime = machine.runtime().await;
    let outside = Outside::new();
    // On every address of the machine, and on loopback.
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "sh bash -c 'echo > /dev/tcp/{FAR}/{} && echo reached > /out/far'\n\
         sh for host in {NEAR} 127.0.0.1 $(ip route | sed -n \"s/default via \\([^ ]*\\).*/\\1/p\"); do \
           timeout 1 bash -c \"echo > /dev/tcp/$host/{port}\" 2>> /out/errors && echo $host >> /out/machine; \
         done; ip -br addr | cut -d@ -f1 | cut -d' ' -f1 > /out/names; true",
        outside.port
    );
    let spec = machine.spec("s-network", Image::Host, &script);
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    assert_eq!(fs::read_to_string(out.join("far")).unwrap(), "reached\n");
    assert_eq!(outside.connected_from.recv().unwrap(), NEAR);
    assert!(!out.join("machine").exists(), "the machine was reached");
    let names = fs::read_to_string(out.join("names")).unwrap();
    assert_eq!(names, "lo\neth0\n");
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

/// Tries to reach a port of the machine from a step, by the address of the machine's end.
async fn reaches_the_machine(machine: &Machine, handle: &str, port: u16) -> bool {
    let runtime = machine.runtime().await;
    let script = format!(
        "sh gateway=$(ip route | sed -n \"s/default via \\([^ ]*\\).*/\\1/p\"); \
         timeout 4 bash -c \"echo > /dev/tcp/$gateway/{port}\" 2> /out/error && echo yes > /out/reached; true"
    );
    let spec = machine.spec(handle, Image::Host, &script);
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let reached = machine
        .sealed(&runtime, &spec.handle)
        .await
        .join("reached")
        .exists();
    runtime.destroy(&spec.handle).await.unwrap();
    reached
}

/// Rules of one installation do not concern the steps of another.
#[tokio::test(flavor = "multi_thread")]
async fn installations_have_rules_for_their_own_steps_only() {
    let (Some(mut open), Some(closed)) = (Machine::new("open"), Machine::new("closed")) else {
        return;
    };
    if !have(&["nft", "ip", "bash"]) {
        return;
    }
    open.isolation.host_access = HostAccess::Allowed;
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Both are there at once, and each was set up before the other once.
    let _closed = closed.runtime().await;
    assert!(reaches_the_machine(&open, "s-open", port).await);
    assert!(!reaches_the_machine(&closed, "s-closed", port).await);
    assert!(reaches_the_machine(&open, "s-open-again", port).await);
    drop(_closed);
    for machine in [&open, &closed] {
        machine.assert_clean();
    }
}

/// Clouds give the machine's credentials to every caller there, on the machine or in a step.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_steps_do_not_reach_the_metadata_of_the_machine() {
    const METADATA: &str = "169.254.169.254";
    if !have(&["nft", "ip", "bash"]) {
        return;
    }
    for (access, reached) in [
        (MetadataAccess::Denied, false),
        (MetadataAccess::Allowed, true),
    ] {
        let Some(mut machine) = Machine::new("metadata") else {
            return;
        };
        machine.isolation.metadata_access = access;
        // The machine's own ports are another matter.
        machine.isolation.host_access = HostAccess::Allowed;
        let cloud = format!("cloud{}", std::process::id() % 10_000);
        ip(&format!("link add {cloud} type veth peer name {cloud}p"));
        let _cloud = Link(cloud.clone());
        ip(&format!("addr add {METADATA}/32 dev {cloud}"));
        ip(&format!("link set {cloud} up"));
        let listener = TcpListener::bind((METADATA, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let runtime = machine.runtime().await;
        let script = format!(
            "sh timeout 2 bash -c 'echo > /dev/tcp/{METADATA}/{port}' 2> /out/error && echo yes > /out/reached; true"
        );
        let spec = machine.spec("s-metadata", Image::Host, &script);
        runtime.place(&spec).await.unwrap();
        gone(&runtime, &spec.handle).await;
        let out = machine.sealed(&runtime, &spec.handle).await;
        assert_eq!(out.join("reached").exists(), reached, "{access:?}");
        runtime.destroy(&spec.handle).await.unwrap();
        machine.assert_clean();
    }
}

/// An interface that goes with the test, also after a failure.
struct Link(String);

impl Drop for Link {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.0]).status();
    }
}

/// Steps share no wire and do not find each other.
#[tokio::test(flavor = "multi_thread")]
async fn steps_do_not_reach_each_other() {
    let Some(machine) = Machine::new("neighbours") else {
        return;
    };
    if !have(&["nft", "ip", "ping"]) {
        return;
    }
    let runtime = machine.runtime().await;
    let script = "sh ip -4 -br addr show eth0 > /out/address\ndial\nstay";
    let first = machine.spec("s-first", Image::Host, script);
    runtime.place(&first).await.unwrap();
    let _shim = machine.hub.accept().unwrap();
    let file = machine
        .root
        .path()
        .join("containers/s-first/outputs/m0/address");
    let line = fs::read_to_string(file).unwrap();
    let address = line
        .split_whitespace()
        .nth(2)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let script = format!("sh ping -c 1 -W 1 {address} > /out/ping || echo lost > /out/lost");
    let second = machine.spec("s-second", Image::Host, &script);
    runtime.place(&second).await.unwrap();
    gone(&runtime, &second.handle).await;
    let out = machine.sealed(&runtime, &second.handle).await;
    assert!(out.join("lost").exists(), "{address} was reached");
    for spec in [&first, &second] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
    machine.assert_clean();
}
