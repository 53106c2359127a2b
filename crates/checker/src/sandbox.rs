//! What a checker gives up before it reads its first request: root, capabilities, most files, unusual system
//! calls, more memory than it should need.
//!
//! What stays is what foreign programs such as `git` and `ssh` need: the system's programs and libraries, name
//! resolution, certificates, a scratch folder, connections to anywhere.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown},
    path::Path,
};

use airside_confine::{Capabilities, Filter};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit};

use crate::serve::{STACK, THREADS};

/// Whom a checker of a server that is root becomes. Every system has an account of this number, and
/// `ssh` insists on one.
const NOBODY: u32 = 65534;

/// For all of a team's checks at once, and for each program that one of them starts.
const MEMORY: u64 = 1 << 30;
/// The largest file that a check may write into its scratch folder.
const FILE: u64 = 1 << 30;

/// Programs, libraries and data of the system.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// Of the system's configuration what any program may know.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssh/ssh_config",
    "/etc/ssh/ssh_config.d",
    "/etc/ssh/ssh_known_hosts",
    "/etc/ssl",
];

/// Where certificates are if the server's environment says so.
const CERTIFICATES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR"];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Confines this process, which has one thread. Gives the names of what this machine does not have.
pub(crate) fn enter(scratch: &Path) -> io::Result<Vec<String>> {
    let mut without = Vec::new();
    limit()?;
    std::env::set_current_dir(scratch)?;
    if rustix::process::geteuid().is_root() {
        become_nobody(scratch)?;
    }
    if fs::metadata(scratch.join(".")).is_err() {
        without.push("a scratch folder that it may reach".to_owned());
    }
    // Other checkers run as the same user: none may look into another's memory.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    rustix::thread::set_no_new_privs(true)?;
    if !close_files(scratch).map_err(io::Error::other)? {
        without.push("Landlock".to_owned());
    }
    Filter::default().install()?;
    Ok(without)
}

/// Takes what checks left in the scratch folder, and with it whatever programs of theirs still run.
pub(crate) fn leave(scratch: &Path) {
    // What stays is removed by the server, which may do more.
    let _ = airside_tree::clear(scratch);
    let own = rustix::process::getpid();
    if rustix::process::getpgrp() == own {
        let _ = rustix::process::kill_process_group(own, rustix::process::Signal::KILL);
    }
}

fn limit() -> io::Result<()> {
    let stacks = (THREADS * STACK) as u64;
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Data, MEMORY + stacks),
        (Resource::Fsize, FILE),
    ] {
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |allowed| allowed.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit)?;
    }
    Ok(())
}

/// From root to somebody who owns nothing. The capabilities go with it, for good.
fn become_nobody(scratch: &Path) -> io::Result<()> {
    if fs::metadata(scratch)?.uid() == 0 {
        chown(scratch, Some(NOBODY), Some(NOBODY))?;
    }
    Capabilities::NONE.bound()?;
    // SAFETY: these calls change ids of this process and touch no memory; there is one thread.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
            && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
    };
    if done {
        Capabilities::NONE.give_up_others()
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether the kernel keeps us from other files.
fn close_files(scratch: &Path) -> Result<bool, RulesetError> {
    let newest = ABI::V6;
    let (all, readable) = (AccessFs::from_all(newest), AccessFs::from_read(newest));
    let certificates = CERTIFICATES.iter().filter_map(std::env::var_os);
    let status = Ruleset::default()
        .handle_access(all)?
        // It listens to nobody. Where it connects to is its work.
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::from_all(newest))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, readable))?
        .add_rules(path_beneath_rules(SETTINGS, readable))?
        .add_rules(path_beneath_rules(certificates, readable))?
        .add_rules(path_beneath_rules(
            DEVICES,
            AccessFs::ReadFile | AccessFs::WriteFile,
        ))?
        .add_rules(path_beneath_rules([scratch], all))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
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

    /// Runs this test again as a process of its own, which confines itself and tries what it may not.
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
        let without = enter(scratch).unwrap();
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
