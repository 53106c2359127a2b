//! Connections that send nothing, or too much, before they are authenticated: no other client
//! notices them.

use std::{
    io::Write,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use airside_scenarios::{Flood, Server, ServerOptions, WAIT_TIMEOUT, pipelines, wait_until};

const CONNECTIONS: usize = 2_000;

/// The limits of files that servers are started with: the usual one, and one that an operator
/// raised.
const LIMITS: [u64; 2] = [1_024, 65_536];

/// Longer than any answer takes on a busy machine, and shorter than silence lasts.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

fn api(server: &Server) -> SocketAddr {
    let url = server.url();
    let address = url.strip_prefix("http://").expect("it has no TLS");
    address.parse().expect("it listens at an address")
}

#[track_caller]
fn answers_soon(server: &Server, what: &str) {
    let begun = Instant::now();
    let (status, _) = server.http("GET", "/api/v1/info", &[], "");
    let took = begun.elapsed();
    assert!(
        status == 200 && took < MAX_ANSWER_TIME,
        "{what}: {status} after {took:?}"
    );
}

fn open_files(server: &Server) -> usize {
    let folder = format!("/proc/{}/fd", server.pid());
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn silent_and_half_asked_connections_leave_the_api_answering() {
    for limit in LIMITS {
        let server = ServerOptions::new().files(limit).start();
        for first in [
            "",
            "GET /api/v1/info HTT",
            "GET / HTTP/1.1\r\nHost: a\r\nX-A: ",
        ] {
            let mut flood = Flood::open(api(&server), CONNECTIONS, first.as_bytes());
            answers_soon(&server, &format!("limit {limit}, after {first:?}"));
            // A head that grows by a byte at a time is not a reason to wait longer.
            flood.send(b"x");
            answers_soon(&server, &format!("limit {limit}, slowly after {first:?}"));
            let open = open_files(&server) as u64;
            assert!(open < limit * 3 / 4, "{open} of {limit} files are open");
        }
        let log = server.log();
        assert!(!log.contains("Too many open files"), "{log}");
    }
}

#[test]
fn silent_connections_are_closed_in_the_end() {
    let server = Server::start();
    let mut flood = Flood::open(api(&server), 20, b"GET / HTT");
    assert!(
        flood.answers().iter().all(String::is_empty),
        "none was answered"
    );
    answers_soon(&server, "afterwards");
}

#[test]
fn requests_that_stall_in_their_bodies_give_way() {
    let server = ServerOptions::new().files(1_024).start();
    let login = "POST /sky/issuer/token HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\n\r\ngrant_type=";
    let _flood = Flood::open(api(&server), CONNECTIONS, login.as_bytes());
    answers_soon(&server, "with bodies under way");
}

#[test]
fn silent_connections_to_the_hub_leave_everything_working() {
    for limit in LIMITS {
        let server = ServerOptions::new().files(limit).start();
        let _flood = Flood::open(server.hub(), CONNECTIONS, b"");
        let socket = server.data().join("hub/socket");
        let _here = Flood::open_at(&socket, CONNECTIONS / 4).expect("steps have the socket");
        answers_soon(&server, &format!("limit {limit}"));
        let fly = server.fly();
        let task = pipelines::task("work", "", "echo with $(ulimit -Sn) files");
        fly.pipeline("p", &pipelines::job(&[task]));
        let build = fly.trigger_and_watch("p/job").succeeded();
        // A raised limit is the server's own.
        assert!(build.stdout.contains("with 1024 files"), "{build:?}");
        let log = server.log();
        assert!(!log.contains("Too many open files"), "{log}");
    }
}

/// A TLS client that sends the beginning of a frame of 8 MiB.
fn long_frame(hub: SocketAddr) -> Child {
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", &hub.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is there");
    let mut input = client.stdin.take().expect("it has one");
    std::thread::spawn(move || {
        let length = 8 * 1024 * 1024;
        let mut frame = vec![0; length - 1];
        frame.splice(..0, (length as u32).to_be_bytes());
        // The hub closes the connection, and openssl ends.
        let _ = input.write_all(&frame);
    });
    client
}

fn resident_mib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
    let status = status.expect("Linux says so");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("Linux says so") / 1024
}

#[test]
fn long_first_frames_take_no_memory_of_the_hub() {
    let server = Server::start();
    let before = resident_mib(&server);
    let mut clients: Vec<Child> = (0..20).map(|_| long_frame(server.hub())).collect();
    let begun = Instant::now();
    wait_until("the hub closes all of them", || {
        clients
            .iter_mut()
            .all(|client| client.try_wait().expect("it is our child").is_some())
    });
    assert!(begun.elapsed() < WAIT_TIMEOUT);
    let grown = resident_mib(&server) - before;
    assert!(grown < 64, "{grown} MiB more were resident at the most");
    answers_soon(&server, "afterwards");
}
