//! A bare repository with a working copy beside it, made with the real git.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::git_server::GitServer;

pub struct Repository {
    pub root: TempDir,
    pub work: PathBuf,
    pub server: GitServer,
    clock: std::cell::Cell<u32>,
}

impl Repository {
    pub fn new() -> Self {
        let root = TempDir::new().unwrap();
        let (bare, work) = (root.path().join("repo.git"), root.path().join("work"));
        git(
            root.path(),
            &["init", "--bare", "--quiet", bare.to_str().unwrap()],
        );
        git(
            root.path(),
            &[
                "clone",
                "--quiet",
                bare.to_str().unwrap(),
                work.to_str().unwrap(),
            ],
        );
        let server = GitServer::start(root.path());
        let clock = std::cell::Cell::new(0);
        Self {
            root,
            work,
            server,
            clock,
        }
    }

    pub fn uri(&self) -> String {
        self.server.uri("repo.git")
    }

    pub fn bare(&self) -> PathBuf {
        self.root.path().join("repo.git")
    }

    /// Commits one file and pushes; commits are a minute apart.
    pub fn commit(&self, file: &str, message: &str) -> String {
        let path = self.work.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{message}\n")).unwrap();
        self.git(&["add", "."]);
        self.tick(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["push", "--quiet", "origin", "HEAD"]);
        self.head()
    }

    pub fn tag(&self, name: &str) -> String {
        self.tick(&["tag", "-a", "-m", name, name]);
        self.git(&["push", "--quiet", "origin", name]);
        self.git(&["rev-parse", &format!("{name}^{{commit}}")])
    }

    pub fn branch(&self, name: &str) {
        self.git(&["checkout", "--quiet", "-B", name]);
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.work, args)
    }

    fn tick(&self, args: &[&str]) -> String {
        let minute = self.clock.get();
        self.clock.set(minute + 1);
        let date = format!("2026-01-02T03:{minute:02}:00+0000");
        git_at(&self.work, args, &date)
    }
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    git_at(dir, args, "2026-01-02T03:00:00+0000")
}

fn git_at(dir: &Path, args: &[&str], date: &str) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "init.defaultBranch=master",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "An Author")
        .env("GIT_AUTHOR_EMAIL", "author@example.com")
        .env("GIT_COMMITTER_NAME", "A Committer")
        .env("GIT_COMMITTER_EMAIL", "committer@example.com")
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_DATE", date)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {text}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
