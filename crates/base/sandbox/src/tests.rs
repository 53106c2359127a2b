use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::Path,
    process::Command,
};

use super::*;

/// Tells a test to be the confined process, and where.
const INSIDE: &str = "AIRSIDE_TEST_SANDBOX";
const USER: u32 = 60_777;

fn confinement(folder: &Path, reach: SandboxReach) -> Confinement<'_> {
    Confinement {
        folder,
        reach,
        user: Some(USER),
        needs_account: false,
        memory: 1 << 30,
        file: 1 << 20,
    }
}

/// Runs the named test again as a process of its own, in a folder beside a secret.
fn run_inside(test: &str, inside: fn(&Path)) {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return inside(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "s").unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("tests::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .env(INSIDE, &own)
        .env("PORT", listener.local_addr().unwrap().port().to_string())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    if rustix::process::geteuid().is_root() && own.join("given").exists() {
        assert_eq!(fs::metadata(own.join("given")).unwrap().uid(), 1234);
        assert_eq!(fs::metadata(own.join("made")).unwrap().uid(), 0);
    }
}

fn port() -> u16 {
    std::env::var("PORT").unwrap().parse().unwrap()
}

#[test]
fn hostile_process_with_the_systems_reach_gets_at_nothing_else() {
    run_inside(
        "hostile_process_with_the_systems_reach_gets_at_nothing_else",
        |folder| {
            let secret = folder.parent().unwrap().join("secret");
            fs::read(&secret).unwrap();
            let without = enter(&confinement(folder, SandboxReach::System)).unwrap();
            assert_eq!(without, Vec::<String>::new());
            for path in [secret.to_str().unwrap(), "/etc/shadow", "/proc/1/environ"] {
                assert!(fs::read(path).is_err(), "{path}");
            }
            fs::write("file", "x").unwrap();
            assert!(fs::write("../other", "x").is_err());
            fs::read("/etc/passwd").unwrap();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port())).unwrap();
            assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_err());
            let parent = rustix::process::getppid().unwrap();
            assert!(rustix::process::test_kill_process(parent).is_err());
            assert!(chown("file", Some(1234), None).is_err());
        },
    );
}

#[test]
fn hostile_process_with_its_folder_alone_gets_at_no_server_and_no_other_file() {
    run_inside(
        "hostile_process_with_its_folder_alone_gets_at_no_server_and_no_other_file",
        |folder| {
            let root = rustix::process::geteuid().is_root();
            let without = enter(&confinement(folder, SandboxReach::Folder)).unwrap();
            assert_eq!(without, Vec::<String>::new());
            for path in ["/etc/passwd", "/usr", "../secret", "/proc/self/environ"] {
                let read = fs::read(path)
                    .map(drop)
                    .or_else(|_| fs::read_dir(path).map(drop));
                assert!(read.is_err(), "{path}");
            }
            assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port())).is_err());
            assert!(std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).is_err());
            assert!(std::os::unix::net::UnixStream::pair().is_err());
            fs::create_dir("made").unwrap();
            fs::write("given", "x").unwrap();
            if root {
                chown("given", Some(1234), Some(1234)).unwrap();
                fs::write("given", "still writable").unwrap();
                // Of root's powers none is left but those over owners.
                let left = rustix::thread::capabilities(None).unwrap();
                assert_eq!(left.permitted.bits(), 0x1B);
                assert!(rustix::process::chroot(".").is_err());
                assert_eq!(rustix::process::geteuid().as_raw(), USER);
            }
        },
    );
}

/// Linux 5.13 to 6.11 close files by Landlock and scope no signals.
#[test]
fn without_scopes_each_process_has_a_user_and_an_account() {
    run_inside(
        "without_scopes_each_process_has_a_user_and_an_account",
        |folder| {
            if !rustix::process::geteuid().is_root() {
                return;
            }
            std::env::set_current_dir(folder).unwrap();
            let confinement = Confinement {
                needs_account: true,
                ..confinement(folder, SandboxReach::System)
            };
            let (user, lacks) = user::prepare(&confinement, false).unwrap();
            assert_eq!((user, lacks), (USER, None));
            assert!(files::close(SandboxReach::System).unwrap());
            assert_eq!(user::leave_root(user, SandboxReach::System).unwrap(), None);
            let said = Command::new("id").arg("-un").output().unwrap();
            assert_eq!(
                String::from_utf8(said.stdout).unwrap().trim(),
                "airside-60777"
            );
            fs::write("own", "x").unwrap();
            assert!(fs::read("../secret").is_err());
        },
    );
}

#[test]
fn without_landlock_each_process_has_a_user_and_an_account() {
    run_inside(
        "without_landlock_each_process_has_a_user_and_an_account",
        |folder| {
            if !rustix::process::geteuid().is_root() {
                return;
            }
            std::env::set_current_dir(folder).unwrap();
            let confinement = Confinement {
                needs_account: true,
                ..confinement(folder, SandboxReach::System)
            };
            let (user, lacks) = user::prepare(&confinement, false).unwrap();
            assert_eq!((user, lacks), (USER, None));
            assert_eq!(user::leave_root(user, SandboxReach::System).unwrap(), None);
            let said = Command::new("id").arg("-un").output().unwrap();
            assert_eq!(
                String::from_utf8(said.stdout).unwrap().trim(),
                "airside-60777"
            );
            fs::write("own", "x").unwrap();
        },
    );
}
