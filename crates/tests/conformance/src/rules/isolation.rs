//! A step is a stranger: what it can do to the shim, the machine and other steps. Nothing.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Command};

use airside_model::VolumeId;
use airside_orchestrator::StepRequest;

use crate::{Bench, step::input};

/// A sealed volume with the program that tries to escape.
fn escapes(bench: &Bench) -> VolumeId {
    compiled(bench, "escapes")
}

/// A sealed volume with one of the programs of this crate, made for any image.
fn compiled(bench: &Bench, name: &str) -> VolumeId {
    let tree = bench.ground.dir.path().join(format!("{name}-tree"));
    fs::create_dir(&tree).unwrap();
    let program = tree.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-static", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(source);
    assert!(compiler.status().unwrap().success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let volume = VolumeId::new(name);
    bench.ground.volumes.adopt(&tree, &volume).unwrap();
    volume
}

/// No port of the machine is open to a step, whichever family of addresses it tries.
pub async fn the_machines_ports_are_closed_in_both_families(bench: &Bench) {
    let volume = compiled(bench, "machine");
    // On every address of either family.
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ran = bench
        .run(&format!("/step/in/machine {port}"), |request| {
            request.inputs = vec![input(&volume, "/step/in")];
        })
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "IPv4 closed\nIPv6 closed\n", "{ran:#?}");
}

pub async fn a_root_task_does_not_escape(bench: &Bench) {
    nobody_escapes(bench, |_| {}).await;
}

pub async fn nobody_escapes_from_a_hermetic_step(bench: &Bench) {
    nobody_escapes(bench, |request| request.hermetic = true).await;
}

/// Tries everything as root, in a step that is changed as the rule wants.
pub(super) async fn nobody_escapes(bench: &Bench, change: impl FnOnce(&mut StepRequest)) {
    let volume = escapes(bench);
    let ran = bench
        .run("id -u; in/escapes", |request| {
            request.inputs = vec![input(&volume, "/step/in")];
            change(request);
        })
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "0\ntried all\n", "{ran:#?}");
}

pub async fn root_is_nobody_outside(bench: &Bench) {
    let script = "cat /proc/self/uid_map /proc/self/gid_map; grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|Seccomp:' \
        /proc/self/status";
    let ran = bench.run(script, |_| {}).await;
    ran.assert_exited(0);
    for map in ran.stdout.lines().take(2) {
        let fields: Vec<&str> = map.split_whitespace().collect();
        assert_eq!(fields[0], "0", "{ran:#?}");
        assert_ne!(fields[1], "0", "{ran:#?}");
    }
    assert!(ran.stdout.contains("Seccomp:\t2\n"), "{ran:#?}");
    let sets = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("Cap"));
    let allowed = 0xA804_25FB_u64;
    for set in sets {
        let mask = set.split_once('\t').unwrap().1;
        let mask = u64::from_str_radix(mask, 16).unwrap();
        assert_eq!(mask & !allowed, 0, "{ran:#?}");
    }
}

/// Ordinary work of builds.
pub async fn ordinary_work_works(bench: &Bench) {
    let script = "set -e; mkdir -p /usr/local/x /var/cache/x; echo a >/etc/new; chown 2:3 /etc/new; \
        chmod 4755 /bin/busybox; stat -c '%u %g' /etc/new; ln /etc/new /etc/link; mknod /tmp/fifo p; \
        ls /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/pts /dev/shm >/dev/null; \
        echo b >/dev/shm/b; cat /dev/shm/b; su nobody -s /bin/sh -c 'id -u'; \
        chroot / /bin/echo chrooted; rm -r /usr/local/x";
    let ran = bench.run(script, |_| {}).await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "2 3\nb\n65534\nchrooted\n", "{ran:#?}");
}

/// A program that is root's by a bit, as `sudo` is, makes root of any user in the step.
pub async fn a_user_can_become_root_inside(bench: &Bench) {
    let script = "cp /bin/bash /root-shell; chmod 4755 /root-shell; \
        su nobody -s /bin/sh -c 'id -u; /root-shell -p -c \"echo \\$EUID\"'";
    let ran = bench.run(script, |_| {}).await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "65534\n0\n", "{ran:#?}");
}

/// Returns the kernel's view of the rights of a root process and of a user's, in a step that is
/// changed as the rule wants.
async fn rights(bench: &Bench, change: impl FnOnce(&mut StepRequest)) -> String {
    let script = "show='cat /proc/self/status'; (sh -c \"$show\"; su nobody -s /bin/sh -c \"$show\") | \
        grep -E '^(Cap|NoNewPrivs|Uid)'; \
        unshare -m true 2>/dev/null && echo unshares; mount -t tmpfs none /mnt 2>/dev/null && echo mounts; :";
    let ran = bench.run(script, change).await;
    ran.assert_exited(0);
    ran.stdout
}

/// Whatever else its shim can do, a step's process can do no more than that of a plain one.
pub(super) async fn has_the_rights_of_any(bench: &Bench, change: impl FnOnce(&mut StepRequest)) {
    let plain = rights(bench, |_| {}).await;
    assert_eq!(plain.lines().count(), 14, "{plain}");
    assert_eq!(rights(bench, change).await, plain);
}

pub async fn a_hermetic_step_has_the_rights_of_any(bench: &Bench) {
    has_the_rights_of_any(bench, |request| request.hermetic = true).await;
}

/// Packets are sent and lost; no name outside is reached.
pub async fn a_hermetic_step_reaches_nobody(bench: &Bench) {
    let script = "ping -c 1 -w 2 192.0.2.1; echo ping $?; ping -c 1 -w 2 127.0.0.1 >/dev/null; \
        echo self $?; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; exit 3";
    let ran = bench.run(script, |request| request.hermetic = true).await;
    ran.assert_exited(3);
    assert!(
        ran.stdout
            .contains("1 packets transmitted, 0 packets received, 100% packet loss"),
        "{ran:#?}"
    );
    assert!(ran.stdout.ends_with("ping 1\nself 0\nlo\n"), "{ran:#?}");
}
