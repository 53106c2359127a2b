//! Real containers on this machine. They need root; without it these tests do nothing.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{fs, io::Read, path::Path};

use airside_model::{Handle, VolumeId, task::ContainerLimits};
use airside_runtime::{Error, Image, Observed, Runtime};
use airside_runtime_local::LocalRuntime;
use common::{Machine, gone, have, input, output};
use futures::StreamExt;

/// Waits for the end of a container and compares its reason. Kernels before 6.15 do not report the
/// exit of a process that is not a child.
async fn assert_ended(runtime: &LocalRuntime, handle: &Handle, expected: &str) {
    let reason = gone(runtime, handle).await;
    let possible = [expected, "container exited"];
    assert!(possible.contains(&reason.as_str()), "{reason}");
}

#[tokio::test]
async fn an_output_is_written_sealed_and_outlives_the_container() {
    let Some(machine) = Machine::new("output") else {
        return;
    };
    let runtime = machine.runtime().await;
    let script = "copy /etc/hostname /out/hostname\nlist / /out/list";
    let spec = machine.spec("s-output", Image::Shim, script);
    runtime.place(&spec).await.unwrap();
    assert_ended(&runtime, &spec.handle, "container exited with code 0").await;
    let sealed = machine.sealed(&runtime, &spec.handle).await;
    // Twice is fine.
    machine.sealed(&runtime, &spec.handle).await;
    assert_eq!(
        fs::read_to_string(sealed.join("hostname")).unwrap(),
        "s-output\n"
    );
    let top = fs::read_to_string(sealed.join("list")).unwrap();
    assert!(!top.lines().any(|name| name == "usr"), "{top}");
    let wrong = runtime
        .seal(&spec.handle, "/elsewhere", &VolumeId::new("x"))
        .await;
    assert!(matches!(wrong, Err(Error::Refused { .. })));
    runtime.destroy(&spec.handle).await.unwrap();
    runtime.destroy(&spec.handle).await.unwrap();
    assert!(sealed.join("hostname").exists());
    machine.assert_clean();
}

#[tokio::test]
async fn inputs_are_private_copies_and_mounts_nest() {
    let Some(machine) = Machine::new("inputs") else {
        return;
    };
    let runtime = machine.runtime().await;
    let volume = VolumeId::new("in");
    let tree = machine.root.path().join("tree");
    fs::create_dir_all(tree.join("deep")).unwrap();
    fs::write(tree.join("file"), "sealed").unwrap();
    machine.volumes.adopt(&tree, &volume).unwrap();
    let script = "copy /out/in/file /out/seen\ncopy /etc/hostname /out/in/file\n\
                  copy /out/in/file /out/changed\ncopy /cache/file /out/cached\n\
                  copy /etc/hostname /cache/file\ncopy /etc/hostname /out/in/deep/out/x";
    let mut spec = machine.spec("s-inputs", Image::Shim, script);
    spec.mounts = vec![
        output("/out/in/deep/out"),
        input("/out/in", &volume),
        output("/out"),
        input("/cache", &volume),
        output("/cache/"),
    ];
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&out.join("seen")), "sealed");
    assert_eq!(read(&out.join("changed")), "s-inputs\n");
    assert_eq!(read(&out.join("cached")), "sealed");
    let (cache, deep) = (VolumeId::new("cache"), VolumeId::new("deep"));
    runtime.seal(&spec.handle, "/cache", &cache).await.unwrap();
    assert_eq!(
        read(&machine.volumes.path(&cache).unwrap().join("file")),
        "s-inputs\n"
    );
    runtime
        .seal(&spec.handle, "/out/in/deep/out", &deep)
        .await
        .unwrap();
    assert_eq!(
        read(&machine.volumes.path(&deep).unwrap().join("x")),
        "s-inputs\n"
    );
    assert_eq!(
        read(&machine.volumes.path(&volume).unwrap().join("file")),
        "sealed"
    );
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

#[tokio::test]
async fn a_container_outlives_its_runtime_and_is_adopted() {
    let Some(machine) = Machine::new("adopt") else {
        return;
    };
    let spec = machine.spec("s-adopt", Image::Shim, "dial");
    let runtime = machine.runtime().await;
    runtime.place(&spec).await.unwrap();
    let (mut shim, _) = machine.hub.accept().unwrap();
    drop(runtime);

    let runtime = machine.runtime().await;
    let first = runtime.observe().next().await.unwrap();
    assert!(
        matches!(first.observed, Observed::Started { .. }),
        "{first:?}"
    );
    runtime.place(&spec).await.unwrap();
    assert_eq!(runtime.list().await.unwrap().len(), 1);
    let mut byte = [0];
    shim.read_exact(&mut byte).unwrap();
    // No other shim reports: placing again started nothing.
    machine.hub.set_nonblocking(true).unwrap();
    assert!(machine.hub.accept().is_err());
    drop(shim);
    gone(&runtime, &spec.handle).await;

    // Dead it stays, for this runtime and the next.
    runtime.place(&spec).await.unwrap();
    drop(runtime);
    let runtime = machine.runtime().await;
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    assert!(machine.hub.accept().is_err());

    let mut other = spec.clone();
    other.privileged = true;
    assert!(matches!(
        runtime.place(&other).await,
        Err(Error::Refused { .. })
    ));
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

#[tokio::test]
async fn destroying_kills_what_runs() {
    let Some(machine) = Machine::new("kill") else {
        return;
    };
    let runtime = machine.runtime().await;
    let spec = machine.spec("s-kill", Image::Shim, "dial\nstay");
    let mut stream = runtime.observe();
    runtime.place(&spec).await.unwrap();
    let (mut shim, _) = machine.hub.accept().unwrap();
    runtime.destroy(&spec.handle).await.unwrap();
    let mut rest = Vec::new();
    // Ended or reset: the other side is no more.
    let _ = shim.read_to_end(&mut rest);
    assert!(matches!(
        stream.next().await.unwrap().observed,
        Observed::Started { .. }
    ));
    assert!(matches!(
        stream.next().await.unwrap().observed,
        Observed::Gone { .. }
    ));
    assert!(runtime.list().await.unwrap().is_empty());
    machine.assert_clean();
}

#[tokio::test]
async fn a_shim_killed_by_hand_is_gone() {
    let Some(machine) = Machine::new("by-hand") else {
        return;
    };
    let runtime = machine.runtime().await;
    let spec = machine.spec("s-by-hand", Image::Shim, "dial\nstay");
    runtime.place(&spec).await.unwrap();
    let _shim = machine.hub.accept().unwrap();
    let init = machine.root.path().join("containers/s-by-hand/init.json");
    let init = fs::read_to_string(init).unwrap();
    let pid = init
        .split_once("\"pid\":")
        .unwrap()
        .1
        .split(',')
        .next()
        .unwrap();
    // Neither our child nor of our session: what ends us does not end it.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    assert_ne!(fields[1], std::process::id().to_string());
    assert_eq!(fields[3], pid);
    let pid: i32 = pid.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_ended(&runtime, &spec.handle, "container was killed by signal 9").await;
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

/// An unprivileged step's root is another user outside; a privileged one's is the machine's.
#[tokio::test]
async fn privilege_decides_who_root_is() {
    let Some(machine) = Machine::new("privilege") else {
        return;
    };
    let runtime = machine.runtime().await;
    for (handle, privileged) in [("s-plain", false), ("s-privileged", true)] {
        let script = "sh cat /proc/self/uid_map > /out/map; ls /dev > /out/dev; \
                      touch /sys/airside-test 2> /out/sys; cat /proc/self/status > /out/status; \
                      ls /sys/class/net > /out/net; chown 5:6 /out/net; true";
        let mut spec = machine.spec(handle, Image::Host, script);
        spec.privileged = privileged;
        runtime.place(&spec).await.unwrap();
        gone(&runtime, &spec.handle).await;
        let out = machine.sealed(&runtime, &spec.handle).await;
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        let map = read("map");
        let outside = map.split_whitespace().nth(1).unwrap();
        assert_eq!(outside == "0", privileged, "{map}");
        assert_eq!(read("dev").lines().any(|name| name == "fuse"), privileged);
        assert_eq!(read("sys").contains("Read-only"), !privileged);
        assert_eq!(read("net"), networks());
        // On disk, ids are those that the step saw.
        use std::os::unix::fs::MetadataExt;
        let owner = fs::metadata(out.join("net")).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (5, 6));
        assert_eq!(fs::metadata(out.join("map")).unwrap().uid(), 0);
        runtime.destroy(&spec.handle).await.unwrap();
    }
    machine.assert_clean();
}

/// Returns the networks that a step sees: its own, or the machine's where no rules can be made.
fn networks() -> String {
    if have(&["nft"]) {
        return "eth0\nlo\n".to_owned();
    }
    let entries = fs::read_dir("/sys/class/net").unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.join("\n") + "\n"
}

/// A machine whose kernel or file system cannot translate ids, or that has no program for the
/// network's rules.
#[tokio::test]
async fn a_machine_that_can_do_less_still_runs_steps() {
    let Some(mut machine) = Machine::new("less") else {
        return;
    };
    // A helper that cannot probe: as on an old kernel.
    let real = machine.helper[0].to_str().unwrap().to_owned();
    let script = format!("[ \"$1\" = probe ] && exit 1; exec {real} \"$@\"");
    machine.helper = vec![
        "/bin/sh".into(),
        "-c".into(),
        script.into(),
        "helper".into(),
    ];
    let runtime = machine.runtime().await;
    let spec = machine.spec(
        "s-less",
        Image::Host,
        "sh cat /proc/self/uid_map > /out/map",
    );
    runtime.place(&spec).await.unwrap();
    gone(&runtime, &spec.handle).await;
    let out = machine.sealed(&runtime, &spec.handle).await;
    let map = fs::read_to_string(out.join("map")).unwrap();
    assert_eq!(map.split_whitespace().nth(1), Some("0"));
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

/// The built-in library is not the only one that can make containers.
#[tokio::test]
async fn runc_makes_containers_too() {
    let Some(mut machine) = Machine::new("runc") else {
        return;
    };
    if std::process::Command::new("runc")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    machine.isolation.maker = "runc".parse().unwrap();
    let runtime = machine.runtime().await;
    let spec = machine.spec("s-runc", Image::Host, "sh hostname > /out/name\ndial\nstay");
    runtime.place(&spec).await.unwrap();
    let _shim = machine.hub.accept().unwrap();
    runtime.destroy(&spec.handle).await.unwrap();

    machine.isolation.maker = "/no/such/runtime".parse().unwrap();
    let runtime = machine.runtime().await;
    let error = runtime.place(&spec).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/runtime"), "{error}");
    assert!(runtime.list().await.unwrap().is_empty());
    machine.assert_clean();
}

#[tokio::test]
async fn limits_reach_the_control_groups_and_privilege_the_process() {
    let Some(machine) = Machine::new("limits") else {
        return;
    };
    let runtime = machine.runtime().await;
    let mut spec = machine.spec(
        "s-limits",
        Image::Host,
        "sh cat /proc/self/status > /out/s\ndial",
    );
    spec.limits = ContainerLimits {
        cpu: Some(512),
        memory: Some(64 << 20),
    };
    spec.privileged = true;
    runtime.place(&spec).await.unwrap();
    let _shim = machine.hub.accept().unwrap();
    let values: Vec<String> = machine
        .cgroups()
        .iter()
        .flat_map(|group| {
            [
                "memory.limit_in_bytes",
                "memory.max",
                "cpu.shares",
                "cpu.weight",
            ]
            .map(|name| group.join("s-limits").join(name))
        })
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    assert!(values.contains(&"67108864\n".to_owned()), "{values:?}");
    assert!(
        values
            .iter()
            .any(|value| ["512\n", "20\n", "59\n"].contains(&value.as_str()))
    );
    runtime.destroy(&spec.handle).await.unwrap();
    machine.assert_clean();
}

#[tokio::test]
async fn what_cannot_be_placed_is_refused_and_leaves_nothing() {
    let Some(machine) = Machine::new("refused") else {
        return;
    };
    let runtime = machine.runtime().await;
    let image = Image::OciLayout {
        path: "/no/such/image".to_owned(),
    };
    let no_image = machine.spec("s-a", image, "");
    let mut no_volume = machine.spec("s-b", Image::Shim, "");
    no_volume.mounts = vec![input("/in", &VolumeId::new("nothing"))];
    let mut bad_path = machine.spec("s-c", Image::Shim, "");
    bad_path.mounts = vec![output("/a/../../b")];
    let bad_handle = machine.spec("../x", Image::Shim, "");
    for spec in [no_image, no_volume, bad_path, bad_handle] {
        let error = runtime.place(&spec).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
    }
    assert!(runtime.list().await.unwrap().is_empty());
    runtime.destroy(&Handle::new("s-never")).await.unwrap();
    machine.assert_clean();
}

#[tokio::test]
async fn half_made_containers_are_listed_and_removed() {
    let Some(machine) = Machine::new("half") else {
        return;
    };
    let runtime = machine.runtime().await;
    let dir = machine.root.path().join("containers/s-half");
    fs::create_dir(&dir).unwrap();
    assert_eq!(runtime.list().await.unwrap().len(), 1);
    runtime.destroy(&Handle::new("s-half")).await.unwrap();
    machine.assert_clean();
}

/// A server that was killed while it laid the folders out comes back and places the step again.
#[tokio::test]
async fn a_container_that_never_had_a_process_is_made_afresh() {
    let Some(machine) = Machine::new("unrecorded") else {
        return;
    };
    let runtime = machine.runtime().await;
    let script = "list / /out/list";
    for (image, recorded) in [
        (Image::Host, false),
        (Image::Shim, false),
        (Image::Shim, true),
    ] {
        let spec = machine.spec("s-unrecorded", image, script);
        let dir = machine.root.path().join("containers/s-unrecorded");
        fs::create_dir_all(dir.join("rootfs/etc")).unwrap();
        fs::create_dir_all(dir.join("outputs/m0")).unwrap();
        fs::write(dir.join("outputs/m0/stale"), "").unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.join("rootfs/bin")).unwrap();
        if recorded {
            let record = serde_json::json!({
                "handle": spec.handle, "installation": spec.installation,
                "spec_hash": spec.hash(), "outputs": {},
            });
            fs::write(dir.join("record.json"), record.to_string()).unwrap();
        }
        runtime.place(&spec).await.unwrap();
        gone(&runtime, &spec.handle).await;
        assert!(!dir.join("outputs/m0/stale").exists());
        assert!(dir.join("outputs/m0/list").exists());
        runtime.destroy(&spec.handle).await.unwrap();
    }
    machine.assert_clean();
}

#[tokio::test]
async fn an_image_is_the_root_and_stays_as_it_was() {
    let Some(machine) = Machine::new("image") else {
        return;
    };
    let runtime = machine.runtime().await;
    let layout = machine.root.path().join("layout");
    common::image(
        &layout,
        &[("greeting", "hello"), ("etc/os-release", "ID=test")],
    );
    let script = "copy /greeting /out/greeting\ncopy /etc/hostname /greeting\n\
                  copy /etc/os-release /out/os\ncopy /proc/self/environ /out/environ";
    let image = Image::OciLayout {
        path: layout.to_str().unwrap().to_owned(),
    };
    for handle in ["s-image-1", "s-image-2"] {
        let spec = machine.spec(handle, image.clone(), script);
        runtime.place(&spec).await.unwrap();
        gone(&runtime, &spec.handle).await;
        let out = machine.sealed(&runtime, &spec.handle).await;
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(read("greeting"), "hello");
        assert_eq!(read("os"), "ID=test");
        let environ = read("environ");
        for entry in [
            "FROM_IMAGE=yes",
            "AIRSIDE_STATE=/.airside/state",
            "AIRSIDE_HUB_PIN=pin",
        ] {
            assert!(environ.split('\0').any(|found| found == entry), "{environ}");
        }
        assert!(environ.contains(&format!("AIRSIDE_HANDLE={handle}\0")));
        // A container stands on it, if only a dead one.
        let at_once = std::time::Duration::ZERO;
        assert_eq!(runtime.collect_images(at_once).await.unwrap(), 0);
        runtime.destroy(&spec.handle).await.unwrap();
        let hour = std::time::Duration::from_secs(3600);
        assert_eq!(runtime.collect_images(hour).await.unwrap(), 0);
        assert_eq!(runtime.collect_images(at_once).await.unwrap(), 1);
    }
    machine.assert_clean();
}

#[tokio::test]
async fn other_installations_are_left_alone() {
    let Some(machine) = Machine::new("foreign") else {
        return;
    };
    let runtime = machine.runtime().await;
    let dir = machine.root.path().join("containers/s-theirs");
    fs::create_dir(&dir).unwrap();
    let record = r#"{"handle":"s-theirs","installation":"other","spec_hash":"","outputs":{}}"#;
    fs::write(dir.join("record.json"), record).unwrap();
    assert!(runtime.list().await.unwrap().is_empty());
    assert!(runtime.destroy(&Handle::new("s-theirs")).await.is_err());
    assert!(dir.join("record.json").exists());
    let mut spec = machine.spec("s-foreign", Image::Shim, "");
    spec.installation = airside_model::InstallationId::new("other");
    assert!(matches!(
        runtime.place(&spec).await,
        Err(Error::Refused { .. })
    ));
}

#[tokio::test]
async fn a_failing_helper_is_reported_and_leaves_nothing() {
    let Some(mut machine) = Machine::new("helper") else {
        return;
    };
    machine.helper = vec![
        "/bin/sh".into(),
        "-c".into(),
        "echo no luck >&2; exit 1".into(),
    ];
    let runtime = machine.runtime().await;
    let spec = machine.spec("s-helper", Image::Shim, "");
    let error = runtime.place(&spec).await.unwrap_err();
    assert!(error.to_string().contains("no luck"), "{error}");
    assert!(runtime.list().await.unwrap().is_empty());
    machine.assert_clean();
}
