//! A root file system that the shim puts together by itself, as first process of namespaces of its
//! own. Needs root.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, os::unix::fs::symlink, path::Path};

use airside_model::{Handle, VolumeId};
use airside_protocol::{
    End, Executable, Exit, Hijack, HubSays, Order, ShimSays, ToHub, ToShim, env,
};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use support::{Finished, HANDLE, Hub, SESSION, Shim, script};
use tempfile::TempDir;

const IMAGE: &str = "image";
/// A static program that is a whole system.
const BUSYBOX: &str = "/usr/bin/busybox";

/// The smallest image: a shell, and what images have in places where something is mounted.
fn image(change: impl FnOnce(&Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("rootfs");
    for name in ["bin", "etc", "dev"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::copy(BUSYBOX, root.join("bin/busybox")).unwrap();
    for name in ["sh", "cat", "ls", "id"] {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    fs::write(root.join("etc/mark"), "inside\n").unwrap();
    fs::write(root.join("etc/passwd"), "ann:x:7:8::/home/ann:\n").unwrap();
    change(folder.path());
    let mut bytes = Vec::new();
    airside_archive::pack(folder.path(), &mut bytes).unwrap();
    bytes
}

fn order(text: &str) -> Order {
    Order {
        run: Executable::Path("sh".into()),
        image: Some(VolumeId::new(IMAGE)),
        ..script(Path::new("/work"), text)
    }
}

/// The shim and the folder that it was lent.
fn start(hub: &Hub) -> Option<(Shim, TempDir)> {
    if !rustix::process::getuid().is_root() || !Path::new(BUSYBOX).exists() {
        return None;
    }
    let room = tempfile::tempdir().unwrap();
    let shim = Shim::start_first_with(hub, &[(env::ROOT, room.path().to_str().unwrap())]);
    Some((shim, room))
}

/// Hands the image out when the shim asks for it.
async fn serve(hub: &Hub, image: &[u8]) {
    let mut volume = hub.accept().await;
    let asked = ShimSays::Fetch {
        handle: Handle::new(HANDLE),
        session: SESSION.into(),
        volume: VolumeId::new(IMAGE),
    };
    assert_eq!(volume.hear().await, ToHub::Control(asked));
    volume.say(HubSays::Begin).await;
    for piece in image.chunks(64 << 10) {
        volume
            .send(ToShim::Chunk(Bytes::copy_from_slice(piece)))
            .await;
    }
    let end = End {
        sha256: hex::encode(Sha256::digest(image)),
        bytes: image.len() as u64,
    };
    volume.say(HubSays::End(end)).await;
}

/// Runs an order in an image to its end; nothing where this cannot be tried.
async fn run(image: &[u8], order: Order) -> Option<Finished> {
    let hub = Hub::start().await;
    let (_shim, _room) = start(&hub)?;
    let (mut control, _) = hub.claimed(&order, 0).await;
    serve(&hub, image).await;
    Some(control.finish().await)
}

#[tokio::test]
async fn the_process_sees_its_image_and_nothing_of_the_old_root() {
    let script = "cat /etc/mark; pwd; echo $HOME; ls /; cat /proc/self/mounts | while read what at rest; do \
        case $at in /|/dev|/proc|/sys) echo $at;; esac; done; echo x >/dev/null";
    let Some(finished) = run(&image(|_| {}), order(script)).await else {
        return;
    };
    let text = finished.text();
    assert_eq!(finished.exit, Some(Exit::Code(0)), "{finished:?}");
    assert!(text.starts_with("inside\n/work\n/\n"), "{text}");
    assert!(!text.contains("usr\n"), "{text}");
    for place in ["/", "/dev", "/proc", "/sys"] {
        assert!(text.lines().any(|line| line == place), "{place}: {text}");
    }
    assert_eq!(
        text.lines().filter(|line| *line == "/").count(),
        2,
        "{text}"
    );
}

#[tokio::test]
async fn users_are_the_images() {
    let wanted = Order {
        user: Some("ann".into()),
        ..order("id -u; id -g; echo $HOME")
    };
    let Some(finished) = run(&image(|_| {}), wanted).await else {
        return;
    };
    assert_eq!(finished.text(), "7\n8\n/home/ann\n", "{finished:?}");
}

/// Links in an image lead nowhere but into it, also for the shim that mounts over them.
#[tokio::test]
async fn links_do_not_lead_out_of_the_image() {
    let victim = tempfile::tempdir().unwrap();
    let outside = victim.path().to_owned();
    let image = image(|folder| {
        let root = folder.join("rootfs");
        symlink(&outside, root.join("proc")).unwrap();
        symlink("../../../../../../../../etc", root.join("sys")).unwrap();
        symlink("../run/none/resolv.conf", root.join("etc/resolv.conf")).unwrap();
        symlink(outside.join("hosts"), root.join("etc/hosts")).unwrap();
    });
    let script = "cat /etc/mark; ls /proc/self/fd >/dev/null && echo proc; [ -d /sys/class ] && echo sys; \
        [ -f /etc/hosts ] && echo hosts";
    let Some(finished) = run(&image, order(script)).await else {
        return;
    };
    assert_eq!(
        finished.text(),
        "inside\nproc\nsys\nhosts\n",
        "{finished:?}"
    );
    assert!(fs::read_dir(victim.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn guests_are_inside_too() {
    let hub = Hub::start().await;
    let Some((_shim, _room)) = start(&hub) else {
        return;
    };
    let (mut control, _) = hub.claimed(&order("exit 1"), 0).await;
    serve(&hub, &image(|_| {})).await;
    control.finish().await;
    control.say(HubSays::Committed).await;
    let guest = Hijack {
        id: "h1".into(),
        path: "cat".into(),
        args: vec!["/etc/mark".into()],
        env: vec![],
        dir: None,
        user: None,
        tty: None,
        scratch: false,
    };
    control.say(HubSays::Hijack(Box::new(guest))).await;
    let mut connection = hub.accept().await;
    assert!(matches!(
        connection.hear().await,
        ToHub::Control(ShimSays::Answer { .. })
    ));
    connection.say(HubSays::Begin).await;
    let said = connection.finish().await;
    assert_eq!(
        (said.text().as_str(), said.exit),
        ("inside\n", Some(Exit::Code(0)))
    );
}

#[tokio::test]
async fn an_artifact_that_is_no_image_is_told() {
    let no_image = image(|folder| airside_archive::remove(&folder.join("rootfs")).unwrap());
    let link = image(|folder| {
        airside_archive::remove(&folder.join("rootfs")).unwrap();
        symlink("/", folder.join("rootfs")).unwrap();
    });
    for image in [no_image, link] {
        let Some(finished) = run(&image, order("echo never")).await else {
            return;
        };
        let Some(Exit::Broken(words)) = &finished.exit else {
            panic!("{finished:?}");
        };
        assert!(words.contains("it has no folder `rootfs`"), "{words}");
    }
}

#[tokio::test]
async fn a_container_without_room_for_an_image_is_told() {
    let hub = Hub::start().await;
    let _shim = Shim::start(&hub);
    let (mut control, _) = hub.claimed(&order("echo never"), 0).await;
    let finished = control.finish().await;
    let Some(Exit::Broken(words)) = &finished.exit else {
        panic!("{finished:?}");
    };
    assert!(words.contains("no folder to put it together in"), "{words}");
}
