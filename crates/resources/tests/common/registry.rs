//! A real registry on loopback, gone when it is dropped.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
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

    /// With a user and password that it asks for, if there are any.
    pub fn with_user(user: Option<(&str, &str)>) -> Self {
        assert!(
            fs::exists(PROGRAM).unwrap(),
            "docker-registry is not installed; `make setup` (or apt-get install docker-registry) does that"
        );
        // Somebody else may take a port between our look and the registry's.
        (0..10)
            .find_map(|_| Self::attempt(user))
            .expect("there is a free port")
    }

    fn attempt(user: Option<(&str, &str)>) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let root = folder.path().display();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {root}/data}}\n\
             http: {{addr: \"127.0.0.1:{port}\"}}\n"
        );
        if let Some((name, password)) = user {
            let hash = bcrypt::hash(password, 4).unwrap();
            fs::write(folder.path().join("users"), format!("{name}:{hash}\n")).unwrap();
            config += &format!("auth:\n  htpasswd: {{realm: test, path: {root}/users}}\n");
        }
        let path = folder.path().join("config.yml");
        fs::write(&path, config).unwrap();
        let child = Command::new(PROGRAM)
            .arg("serve")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut registry = Self {
            host: format!("127.0.0.1:{port}"),
            child,
            _folder: folder,
        };
        loop {
            if registry.child.try_wait().unwrap().is_some() {
                return None;
            }
            if TcpStream::connect(&registry.host).is_ok() {
                return Some(registry);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
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
