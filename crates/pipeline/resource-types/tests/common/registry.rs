//! A real registry on loopback, gone when it is dropped.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, ChildStderr, Command, Stdio},
};

use tempfile::TempDir;

const PROGRAM: &str = "/usr/bin/docker-registry";

pub struct Registry {
    pub host: String,
    child: Child,
    _folder: TempDir,
}

impl Registry {
    pub fn start() -> Self {
        Self::with_user(None)
    }

    /// Starts a registry with a user and password that it asks for, if there are any.
    pub fn with_user(user: Option<(&str, &str)>) -> Self {
        assert!(
            fs::exists(PROGRAM).unwrap(),
            "docker-registry is not installed; `make setup` (or apt-get install docker-registry) does that"
        );
        let folder = TempDir::new().unwrap();
        let root = folder.path().display();
        let mut config = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {root}/data}}\n\
             http: {{addr: \"127.0.0.1:0\"}}\n"
        );
        if let Some((name, password)) = user {
            let hash = bcrypt::hash(password, 4).unwrap();
            fs::write(folder.path().join("users"), format!("{name}:{hash}\n")).unwrap();
            config += &format!("auth:\n  htpasswd: {{realm: test, path: {root}/users}}\n");
        }
        let path = folder.path().join("config.yml");
        fs::write(&path, config).unwrap();
        let mut child = Command::new(PROGRAM)
            .arg("serve")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let host = listens_at(child.stderr.take().unwrap());
        Self {
            host,
            child,
            _folder: folder,
        }
    }

    pub fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.host)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the address that the registry's log names. The rest of the log is dropped.
fn listens_at(log: ChildStderr) -> String {
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let host = lines.by_ref().find_map(|line| {
        let (_, host) = line.split_once("msg=\"listening on ")?;
        Some(host.split('"').next()?.to_owned())
    });
    std::thread::spawn(move || lines.for_each(drop));
    host.expect("docker-registry listens")
}
