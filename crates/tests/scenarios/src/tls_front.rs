//! TLS with a certificate of the test's own, in front of a server that has none.

use std::{
    net::IpAddr,
    path::PathBuf,
    process::{Child, Command},
};

use tempfile::TempDir;

use crate::start_tool;

/// `dev/tls-front` as a process; it ends with this.
pub struct TlsFront {
    process: Child,
    pub address: String,
    /// File of the authority that signed its certificate, as PEM.
    pub authority: PathBuf,
    _folder: TempDir,
}

impl TlsFront {
    /// Passes on to a `HOST:PORT`, on a free port of `host`, whose address its certificate is for.
    pub fn before(behind: &str, host: IpAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (authority, authority_key) = (file("ca.pem"), file("ca-key.pem"));
        let (certificate, key) = (file("cert.pem"), file("key.pem"));
        certify(
            &authority,
            &authority_key,
            &["-subj", "/CN=authority of a test"],
        );
        let name = format!("subjectAltName=IP:{host}");
        let signed = [
            "-CA",
            &authority,
            "-CAkey",
            &authority_key,
            "-subj",
            "/CN=server of a test",
        ];
        let for_servers = [
            "-addext",
            &name,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ];
        certify(&certificate, &key, &[&signed[..], &for_servers].concat());
        let host = host.to_string();
        let (process, port) = start_tool("tls-front", &[&host, &certificate, &key, behind]);
        Self {
            process,
            address: format!("{host}:{port}"),
            authority: authority.into(),
            _folder: folder,
        }
    }
}

/// Makes a certificate and its key.
fn certify(certificate: &str, key: &str, more: &[&str]) {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args(["-out", certificate, "-keyout", key])
        .args(more)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
