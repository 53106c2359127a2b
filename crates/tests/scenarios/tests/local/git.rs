//! A pipeline over a git repository: a checker finds its commits, and steps of type `git` the git
//! program.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use airside_scenarios::{Counter, Server, wait_until};

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
    let ended = git.args(args).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "git {args:?}: {ended:?}");
}

/// Serves the repositories in a folder, on loopback, until it is dropped.
struct Daemon {
    process: Child,
    port: u16,
}

impl Daemon {
    fn serve(folder: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let process = Command::new("git")
            .args(["daemon", "--export-all", "--listen=127.0.0.1"])
            .arg("--enable=receive-pack")
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", folder.display()))
            .arg(folder)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let daemon = Self { process, port };
        wait_until("git's daemon answers", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The daemon itself is a child of the git program; both go with what they are asked by.
        let _ = Command::new("kill")
            .args(["-TERM", &self.process.id().to_string()])
            .status();
        let _ = self.process.wait();
    }
}

#[test]
fn a_commit_is_found_and_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("code");
    std::fs::create_dir(&code).unwrap();
    git(&code, &["init", "-q", "-b", "main"]);
    std::fs::write(code.join("greeting"), "hello from git\n").unwrap();
    git(&code, &["add", "."]);
    git(&code, &["commit", "-q", "-m", "first"]);
    let daemon = Daemon::serve(folder.path());

    let server = Server::start();
    let fly = server.fly();
    let pipeline = format!(
        "resources: [{{name: code, type: git, source: {{uri: 'git://127.0.0.1:{}/code', branch: main}}}}]\n\
         jobs: [{{name: read, plan: [{{get: code}}, {{task: read, config: {{platform: linux,\n\
         \x20 image_resource: {{type: host}}, inputs: [{{name: code}}], run: {{path: cat, args: [code/greeting]}}}}}}]}}]",
        daemon.port
    );
    fly.pipeline("p", &pipeline);
    let read = fly.trigger_and_watch("p/read").succeeded();
    assert!(read.stdout.contains("hello from git"), "{read:?}");
}

/// A build holds the one lock of a pool, and others wait for it until they are aborted or their
/// step's time is over.
#[test]
fn builds_take_turns_at_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let locks = folder.path().join("locks");
    std::fs::create_dir_all(locks.join("aws/unclaimed")).unwrap();
    git(&locks, &["init", "-q", "-b", "main"]);
    std::fs::write(locks.join("aws/unclaimed/env-1"), "address of env-1\n").unwrap();
    git(&locks, &["add", "."]);
    git(&locks, &["commit", "-q", "-m", "first"]);
    git(folder.path(), &["clone", "-q", "--bare", "locks", "shared"]);
    let (daemon, counter) = (Daemon::serve(folder.path()), Counter::start());

    let server = Server::start();
    let fly = server.fly();
    let pipeline = format!(
        "resources:\n- name: lock\n  type: pool\n  \
         source: {{uri: 'git://127.0.0.1:{}/shared', branch: main, pool: aws, retry_delay: 100ms}}\n\
         jobs:\n- name: hold\n  plan:\n  - {{put: lock, params: {{acquire: true}}}}\n  - task: hold\n    config:\n      \
         platform: linux\n      image_resource: {{type: host}}\n      inputs: [{{name: lock}}]\n      \
         run: {{path: bash, args: [-c, 'cat lock/name lock/metadata; {}']}}\n  \
         ensure: {{put: lock, params: {{release: lock}}}}\n\
         - {{name: want, plan: [{{put: lock, params: {{acquire: true}}}}]}}\n\
         - {{name: soon, plan: [{{put: lock, params: {{acquire: true}}, timeout: 2s}}]}}\n",
        daemon.port,
        counter.bump("held")
    );
    fly.pipeline("p", &pipeline);
    counter.hold("held");
    let holding = fly.trigger("p/hold");
    counter.wait("held", 1);
    let wanting = fly.trigger("p/want");
    let waits = "pool aws: waiting for a lock to be released: env-1 is claimed";
    fly.wait_for_text(wanting.id, waits);
    fly.run(&["abort-build", "-b", &wanting.id.to_string()])
        .succeeded();
    fly.watch(wanting.id).ended_with(3);
    let late = fly.trigger("p/soon");
    let late = fly.watch(late.id).ended_with(1);
    assert!(late.stdout.contains("timeout exceeded"), "{late:?}");
    counter.release("held");
    let held = fly.watch(holding.id).succeeded();
    for line in [
        "pool aws: claiming env-1",
        "address of env-1",
        "pool aws: unclaiming env-1",
    ] {
        assert!(held.stdout.contains(line), "{line}: {held:?}");
    }
    fly.trigger_and_watch("p/want").succeeded();
}
