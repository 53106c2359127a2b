//! The image `host`: the machine's programs without its data and its secrets. Needs root; without
//! it these tests do nothing.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{fs, path::Path};

use airside_model::task::ContainerLimits;
use airside_runtime::{Image, Runtime};
use common::{Machine, gone};

#[tokio::test]
async fn the_host_shows_its_programs_and_not_its_data() {
    let Some(machine) = Machine::new("host") else {
        return;
    };
    let runtime = machine.runtime().await;
    let script = "list /root /out/root\nlist /usr/bin /out/programs\n\
                  sh echo changed > /etc/airside-test && hostname > /out/hostname\n\
                  sh cat /proc/self/status > /out/status; ls /dev > /out/dev\n\
                  sh mkdir -p /tmp/x && touch /usr/bin/airside-test && cat /etc/hosts > /out/hosts\n\
                  sh echo $PAGER $GIT_PAGER > /out/pagers";
    let mut spec = machine.spec("s-host", Image::Host, script);
    spec.limits = ContainerLimits {
        cpu: Some(512),
        memory: Some(64 << 20),
    };
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("root"), ".\n..\n");
    assert!(read("programs").lines().any(|name| name == "env"));
    assert_eq!(read("hostname"), "s-host\n");
    assert!(read("hosts").contains("127.0.0.1 s-host"));
    assert_eq!(read("pagers"), "cat cat\n", "no program waits for a key");
    assert!(!read("dev").lines().any(|name| name == "fuse"));
    assert!(
        read("status")
            .lines()
            .any(|line| line == "CapEff:\t00000000a82435fb"),
        "{}",
        read("status")
    );
    assert!(!Path::new("/etc/airside-test").exists());
    assert!(!Path::new("/usr/bin/airside-test").exists());
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

/// A step may not read what other users of the machine may not read.
#[tokio::test]
async fn the_host_keeps_its_secrets() {
    let Some(machine) = Machine::new("secrets") else {
        return;
    };
    let secret = Path::new("/etc/shadow");
    if !secret.exists() {
        return;
    }
    let runtime = machine.runtime().await;
    // Files of root's that are not open to everybody: the stand-ins are all there is.
    let script = "sh find /etc -type f ! -perm -004 > /out/closed; cat /etc/shadow > /out/shadow; \
                  ls -ld /etc /etc/ssl > /out/folders; echo x > /etc/ssl/new; sudo -n id -u > /out/sudo || true";
    let spec = machine.spec("s-secrets", Image::Host, script);
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let mut closed: Vec<_> = read("closed").lines().map(str::to_owned).collect();
    closed.sort();
    assert_eq!(closed, ["/etc/shadow", "/etc/sudoers"]);
    assert!(read("shadow").lines().all(|line| line.contains(":*:")));
    assert!(read("shadow").contains("root:*:"));
    for line in read("folders").lines() {
        assert!(
            line.starts_with("drwxr-xr-x") && line.contains("root root"),
            "{line}"
        );
    }
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

/// A secret that is made while a step runs is none of the step's business either.
#[tokio::test]
async fn hostile_steps_do_not_see_secrets_that_are_made_later() {
    let Some(machine) = Machine::new("later") else {
        return;
    };
    let runtime = machine.runtime().await;
    let script =
        "sh echo > /out/began; until test -e /out/go; do sleep 0.05; done; ls /etc > /out/names";
    let spec = machine.spec("s-later", Image::Host, script);
    runtime.place(&spec).await.unwrap();
    let out = machine.root.path().join("containers/s-later/outputs/m0");
    while !out.join("began").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let secret = tempfile::Builder::new()
        .prefix("airside-test-")
        .tempfile_in("/etc")
        .unwrap();
    fs::write(out.join("go"), "").unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    let names = fs::read_to_string(out.join("names")).unwrap();
    let secret = secret.path().file_name().unwrap().to_str().unwrap();
    assert!(
        names.contains("hosts") && !names.contains(secret),
        "{names}"
    );
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}
