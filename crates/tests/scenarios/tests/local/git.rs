//! A pipeline over a git repository: a checker finds its commits, and steps of type `git` the git
//! program.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use airside_scenarios::{Server, wait_until};

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
