//! Output that suits its reader, errors that begin alike, and starts that leave nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use rustix::process::Signal;
use support::{Home, Server, airside, refusal, text};

/// Variables that decide about colours.
const COLOURS: [&str; 4] = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"];

fn with_colours(mut command: Command, variables: &[(&str, &str)]) -> Output {
    for name in COLOURS {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn files_and_pipes_get_no_colours_unless_they_are_asked_for() {
    let bogus = || {
        let mut command = airside();
        command.arg("bogus");
        command
    };
    let help = || {
        let mut command = airside();
        command.args(["up", "--help"]);
        command
    };
    let failing = || {
        let mut command = airside();
        command.args([
            "up",
            "--tls-cert",
            "gone",
            "--tls-key",
            "gone",
            "--log-level=debug",
        ]);
        command
            .current_dir(std::env::temp_dir())
            .args(["--data", "airside-no-such-data"]);
        command
    };
    let all: [&dyn Fn() -> Command; 3] = [&bogus, &help, &failing];
    for command in all {
        for (variables, expected) in [
            (&[("TERM", "xterm")][..], false),
            (&[("CLICOLOR_FORCE", "1")], true),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            let output = with_colours(command(), variables);
            let written = text(&output.stdout) + &text(&output.stderr);
            assert!(!written.is_empty());
            assert_eq!(
                written.contains('\x1b'),
                expected,
                "{variables:?}: {written:?}"
            );
        }
    }
}

#[test]
fn errors_begin_alike() {
    for args in [
        &["bogus"][..],
        &["up", "--bogus"],
        &["validate"],
        &["agent"],
    ] {
        let output = airside().args(args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.starts_with("airside: "), "{args:?}: {said}");
        assert!(!said.contains("error:"), "{args:?}: {said}");
    }
    let coloured = with_colours(
        {
            let mut command = airside();
            command.arg("bogus");
            command
        },
        &[("CLICOLOR_FORCE", "1")],
    );
    assert!(text(&coloured.stderr).contains("airside:"));
    let of_run = refusal(airside().args(["run", "no-such-file.yml"]));
    assert!(of_run.starts_with("airside: "), "{of_run}");
    // Help is what was asked for, and no error.
    let help = airside().arg("--help").output().unwrap();
    assert!(help.status.success() && help.stderr.is_empty());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for args in [
        &["schema"][..],
        &["completion", "bash"],
        &["k8s", "rbac", "--namespace", "ci"],
        &["images", "install"],
        &["up", "--print-config"],
        &["up", "--help"],
        &["clean", "--dry-run"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = airside().args(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert!(output.status.success(), "{args:?}: {}", output.status);
    }
}

#[test]
fn a_server_goes_on_when_its_log_has_no_reader() {
    let home = Home::new();
    let mut child = home
        .web()
        .args(["--log-level", "debug"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    drop(log);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.code() == Some(0) || status.code().is_none(),
        "{status}"
    );
}

#[test]
fn names_are_addresses_to_listen_on() {
    let home = Home::new();
    let names = ["--listen", "localhost:0", "--metrics-listen", "localhost:0"];
    let server = Server::start(home.web().args(names));
    assert!(server.address().ip().is_loopback());
    let said = refusal(airside().args(["up", "--hub-listen", "here"]));
    assert!(
        said.contains("'--hub-listen <ADDR>': an address is written"),
        "{said}"
    );
}

#[test]
fn a_start_that_fails_leaves_no_data_folder() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for option in [
        "--listen",
        "--metrics-listen",
        "--registry-listen",
        "--hub-listen",
    ] {
        let said = refusal(home.web().args(["--data", "new/data", option, &address]));
        assert!(said.contains(&address) && said.contains(option), "{said}");
        assert!(!home.path().join("new").exists(), "{option}");
    }
    // A folder that was there stays, with all that is in it.
    let mut server = Server::start(&mut home.web());
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    refusal(home.web().args(["--listen", &address]));
    assert!(home.path().join("data/airside.db").exists());
}

#[test]
fn a_misspelt_variable_is_told() {
    let home = Home::new();
    let server = Server::start(
        home.web()
            .env("AIRSIDE_LOG_FORMTA", "json")
            .env("AIRSIDE_FLY", "/fly")
            .env("AIRSIDE_SERVICE_HOST", "10.0.0.1"),
    );
    let log = server.log();
    let warnings: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("ignored"))
        .collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("AIRSIDE_LOG_FORMTA"), "{log}");
    assert!(
        warnings[0].contains("did_you_mean=\"AIRSIDE_LOG_FORMAT\""),
        "{log}"
    );
}

#[test]
fn relative_paths_of_the_file_begin_at_the_file() {
    let home = Home::new();
    let folder = home.path().join("etc");
    std::fs::create_dir(&folder).unwrap();
    let file = home.file(
        "etc/airside.yml",
        "data: state\nuser-file: /etc/users\nlisten: 127.0.0.1:1\n",
    );
    let printed = |config: &std::path::Path| {
        let mut command = airside();
        let command = command
            .current_dir(home.path())
            .args(["web", "--print-config", "--config"]);
        text(&command.arg(config).output().unwrap().stdout)
    };
    let expected = format!("data: {}/state ", folder.display());
    let absolute = printed(&file);
    assert!(absolute.contains(&expected), "{absolute}");
    assert!(absolute.contains("user-file: /etc/users "), "{absolute}");
    let relative = printed("etc/airside.yml".as_ref());
    assert!(relative.contains("data: etc/state "), "{relative}");
}
