//! Starting a second time, and stopping in order.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use rustix::{
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use support::{Home, Server, airside, fly, refusal, text, wait_until};

const BODY: &str = "grant_type=password&username=admin&password=secret";

/// A login whose body is only half there: a request under way.
fn half_a_login(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream
        .set_read_timeout(Some(support::TEST_TIMEOUT))
        .unwrap();
    write!(
        stream,
        "POST /sky/issuer/token HTTP/1.1\r\nHost: airside\r\nAuthorization: Basic Zmx5OlpteDU=\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        BODY.len()
    )
    .unwrap();
    // The server asks for the body once the request is in its hands.
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).unwrap();
    assert!(asked.starts_with(b"HTTP/1.1 100"), "{}", text(&asked));
    write!(stream, "{}", &BODY[..20]).unwrap();
    stream
}

#[test]
fn requests_under_way_end_and_then_the_server_does() {
    let home = Home::new();
    let mut server = Server::start(&mut home.web());
    let mut under_way = half_a_login(&server);
    let idle = TcpStream::connect(server.address()).unwrap();
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");
    write!(under_way, "{}", &BODY[20..]).unwrap();
    let mut answer = String::new();
    under_way.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("access_token"), "{answer}");
    let status = server.wait();
    assert!(status.success(), "{status}: {}", server.log());
    assert!(server.log().contains("stopped"), "{}", server.log());
    drop(idle);
}

#[test]
fn a_second_signal_does_not_wait() {
    let home = Home::new();
    let mut server = Server::start(&mut home.web());
    let under_way = half_a_login(&server);
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");
    assert!(!server.has_ended(), "it waits for the request");
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(143), "{}", server.log());
    drop(under_way);
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let home = Home::new();
    let _server = Server::start(&mut home.web());
    let said = refusal(&mut home.web());
    assert!(
        said.contains("another airside uses the data folder"),
        "{said}"
    );
    let said = refusal(home.web().args([
        "--data",
        "other",
        "--listen",
        &_server.address().to_string(),
    ]));
    assert!(
        said.contains("cannot listen on") && said.contains("--listen"),
        "{said}"
    );
}

#[test]
fn web_says_where_it_serves_and_how_much_is_up_to_the_level() {
    let home = Home::new();
    let mut server =
        Server::start(
            home.web()
                .args(["--log-format", "json", "--log-level", "debug"]),
        );
    assert!(
        server.log().contains("\"message\":\"server started\""),
        "{}",
        server.log()
    );
    assert!(
        server.log().contains("no workers configured"),
        "{}",
        server.log()
    );
    // There is nothing to read again, and that is not a reason to end.
    server.signal(Signal::HUP);
    let answer = server.get("/api/v1/info", "");
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(
        !answer.to_lowercase().contains("strict-transport-security"),
        "{answer}"
    );
    server.signal(Signal::INT);
    assert!(server.wait().success());
}

#[test]
fn up_makes_what_it_needs_and_prints_how_to_log_in() {
    let home = Home::new();
    let args = ["up", "--listen", "127.0.0.1:0", "--local-worker=false"];
    let start = || Server::start(airside().current_dir(home.path()).args(args));
    let mut server = start();
    let file = home.path().join("airside-data/password");
    let password = std::fs::read_to_string(&file).unwrap();
    // Standard error is not a terminal, so it may be the log of a service: the password is not in
    // it.
    let line = format!(
        "fly -t airside login -c {} -u admin -p \"$(cat '{}')\"",
        server.url,
        file.canonicalize().unwrap().display()
    );
    server.wait_for_line(&line);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(home.path().join("airside-data/encryption-key").exists());
    // Nothing ran, so nothing goes on; and the next start says where the password is.
    server.signal(Signal::INT);
    assert!(server.wait().success());
    let log = server.log();
    assert!(!log.contains(&password), "{log}");
    assert!(
        log.contains("stopped") && !log.contains("running steps go on"),
        "{log}"
    );
    let again = start();
    again.wait_for_line("/password')\"");
    assert!(!again.log().contains(&password), "{}", again.log());
}

#[test]
fn a_person_at_a_terminal_sees_the_password_once() {
    let home = Home::new();
    let args = ["up", "--listen", "127.0.0.1:0", "--local-worker=false"];
    let greeted = || {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        let mut command = airside();
        let mut child = command
            .current_dir(home.path())
            .args(args)
            .stderr(terminal)
            .spawn()
            .unwrap();
        // It holds an end of the terminal, too.
        drop(command);
        let lines = BufReader::new(File::from(master)).lines();
        let line = lines
            .map_while(Result::ok)
            .find(|line| line.contains("-u admin"));
        child.kill().unwrap();
        child.wait().unwrap();
        line.unwrap()
    };
    let (first, second) = (greeted(), greeted());
    let password = std::fs::read_to_string(home.path().join("airside-data/password")).unwrap();
    assert!(
        first.contains(&format!("-u admin -p {password}")),
        "{first}"
    );
    assert!(!second.contains(&password), "{second}");
}

const PIPELINE: &str = "\
jobs:
- name: j
  plan:
  - {task: t, config: {platform: linux, image_resource: {type: host}, run: {path: 'true'}}}
";

#[test]
fn fly_watches_on_after_a_restart() {
    let home = Home::new();
    home.file("p.yml", PIPELINE);
    // Taken and given back at once: a port that is free for now.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let metrics = free.to_string();
    let mut server = Server::start(home.web().args(["--metrics-listen", &metrics]));
    let address = server.address().to_string();
    let Some(_) = fly(home.path()) else {
        eprintln!("skipped: AIRSIDE_FLY does not say where fly is");
        return;
    };
    let fly = |args: &[&str]| {
        let mut command = fly(home.path()).unwrap();
        command
            .current_dir(home.path())
            .args(["-t", "ci"])
            .args(args);
        command
    };
    let run = |args: &[&str]| {
        let output = fly(args).output().unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
    };
    run(&["login", "-c", &server.url, "-u", "admin", "-p", "secret"]);
    run(&["set-pipeline", "-n", "-p", "p", "-c", "p.yml"]);
    // The pipeline is paused, so that the build waits.
    run(&["trigger-job", "-j", "p/j"]);
    let watching = fly(&["watch", "-b", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("fly follows the build", || {
        let Ok(mut stream) = TcpStream::connect(&metrics) else {
            return false;
        };
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut counted = String::new();
        stream.read_to_string(&mut counted).unwrap();
        counted.contains("BuildEvents")
    });
    server.signal(Signal::TERM);
    assert!(server.wait().success(), "{}", server.log());
    assert!(
        !server.log().contains("requests cut"),
        "the stream ended by itself: {}",
        server.log()
    );

    let _again = Server::start(home.web().args(["--listen", &address]));
    run(&["unpause-pipeline", "-p", "p"]);
    let watched = watching.wait_with_output().unwrap();
    let said = text(&watched.stdout) + &text(&watched.stderr);
    // There is no worker: the build errs, and fly says so.
    assert_eq!(watched.status.code(), Some(2), "{said}");
    assert!(said.contains("errored"), "{said}");
}
