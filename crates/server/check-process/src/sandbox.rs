//! Confines a checker before it reads its first request: it gives up root, capabilities, most
//! files, unusual system calls, and memory beyond its needs.
//!
//! It keeps what other programs such as `git` and `ssh` need: the system's programs and libraries,
//! name resolution, certificates, a scratch folder, connections to anywhere.

use std::{fs, io, path::Path};

use airside_sandbox::{Confinement, SandboxReach};

use crate::serve::{STACK, THREADS};

/// Bytes of memory for all of a team's checks at once, and for each program that one of them
/// starts.
const MEMORY: u64 = 1 << 30;
/// Bytes of the largest file that a check may write into its scratch folder.
const FILE: u64 = 1 << 30;

/// Confines this process, which has one thread. Gives the names of what this machine does not have.
pub(crate) fn enter(scratch: &Path, user: Option<u32>) -> io::Result<Vec<String>> {
    let mut without = airside_sandbox::enter(&Confinement {
        folder: scratch,
        reach: SandboxReach::System,
        user,
        needs_account: true,
        memory: MEMORY + (THREADS * STACK) as u64,
        file: FILE,
    })?;
    if fs::metadata(scratch.join(".")).is_err() {
        without.push("a scratch folder that it may reach".to_owned());
    }
    Ok(without)
}

/// Takes what checks left in the scratch folder, and with it whatever programs of theirs still run.
pub(crate) fn leave(scratch: &Path) {
    // What stays is removed by the server, which may do more.
    let _ = airside_archive::clear(scratch);
    let own = rustix::process::getpid();
    if rustix::process::getpgrp() == own {
        let _ = rustix::process::kill_process_group(own, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener, TcpStream},
        process::Command,
    };

    use super::*;

    /// Tells the test to be the confined process, and where.
    const INSIDE: &str = "AIRSIDE_TEST_SANDBOX";

    /// Runs this test again as a process of its own, which confines itself and tries what it may
    /// not.
    #[test]
    fn what_a_confined_process_can_and_cannot_do() {
        if let Some(scratch) = std::env::var_os(INSIDE) {
            return inside(Path::new(&scratch));
        }
        let folder = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        let scratch = folder.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let name = "sandbox::tests::what_a_confined_process_can_and_cannot_do";
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(INSIDE, &scratch)
            .env("PORT", listener.local_addr().unwrap().port().to_string())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    fn inside(scratch: &Path) {
        let port: u16 = std::env::var("PORT").unwrap().parse().unwrap();
        // Before it is confined it can do all of this.
        let secret = scratch.parent().unwrap().join("secret");
        fs::read(&secret).unwrap();
        let without = enter(scratch, None).unwrap();
        assert_eq!(without, Vec::<String>::new());
        for path in [
            secret.to_str().unwrap(),
            "/etc/shadow",
            "/proc/1/environ",
            "/root",
            "/var",
        ] {
            let read = fs::read(path)
                .map(drop)
                .or_else(|_| fs::read_dir(path).map(drop));
            assert!(read.is_err(), "{path}");
        }
        fs::write(scratch.join("own"), "x").unwrap();
        assert!(fs::write(scratch.join("../other"), "x").is_err());
        fs::read("/etc/passwd").unwrap();
        let ran = Command::new("/bin/sh")
            .args(["-c", "exit 3"])
            .status()
            .unwrap();
        assert_eq!(ran.code(), Some(3));
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_err());
        let parent = rustix::process::getppid().unwrap();
        assert!(rustix::process::test_kill_process(parent).is_err());
        leave(scratch);
        assert_eq!(fs::read_dir(scratch).unwrap().count(), 0);
    }
}
