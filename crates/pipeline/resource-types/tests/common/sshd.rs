//! A real sshd on loopback: one for each connection, as an inetd would start it.

use std::{
    fs,
    net::TcpListener,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

pub struct Sshd {
    pub port: u16,
    folder: PathBuf,
}

impl Sshd {
    /// Starts sshd with keys and settings in a folder; the owner of the key `user` in it may log
    /// in.
    pub fn start(folder: &Path) -> Self {
        // sshd needs the folder, and without a service manager no program has made it.
        fs::create_dir_all("/run/sshd").unwrap();
        key(&folder.join("host"), "");
        let config = format!(
            "HostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nUsePAM no\nStrictModes no\n\
             PidFile none\nPasswordAuthentication no\n",
            folder.display()
        );
        fs::write(folder.join("config"), config).unwrap();
        fs::write(folder.join("authorized"), "").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = folder.join("config");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let socket = OwnedFd::from(stream);
                let mut sshd = Command::new("/usr/sbin/sshd");
                sshd.args(["-i", "-e", "-f"]).arg(&config);
                sshd.stdin(socket.try_clone().unwrap()).stdout(socket);
                let mut child = sshd.stderr(Stdio::null()).spawn().unwrap();
                thread::spawn(move || child.wait());
            }
        });
        let folder = folder.to_owned();
        Self { port, folder }
    }

    /// Makes a key that may come in, and returns its private half.
    pub fn admit(&self, name: &str, passphrase: &str) -> String {
        let path = self.folder.join(name);
        key(&path, passphrase);
        let public = fs::read_to_string(path.with_extension("pub")).unwrap();
        let list = self.folder.join("authorized");
        let known = fs::read_to_string(&list).unwrap();
        fs::write(&list, known + &public).unwrap();
        fs::set_permissions(&list, fs::Permissions::from_mode(0o600)).unwrap();
        fs::read_to_string(path).unwrap()
    }

    /// A line of a `known_hosts` file.
    pub fn known_host(&self) -> String {
        let key = fs::read_to_string(self.folder.join("host.pub")).unwrap();
        format!("[127.0.0.1]:{} {key}", self.port)
    }

    pub fn uri(&self, path: &Path) -> String {
        format!("ssh://127.0.0.1:{}{}", self.port, path.display())
    }
}

fn key(path: &Path, passphrase: &str) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", passphrase, "-f"])
        .arg(path)
        .status()
        .unwrap();
    assert!(made.success());
}
