//! A step that fills the disk hurts itself, and is told so.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{fs, path::Path, process::Command};

use airside_runtime::{Image, Runtime};
use common::{Machine, gone};

/// A small disk under a test's folder; unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn over(folder: &'a Path) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=32m,mode=700", "disk"]);
        assert!(mount.arg(folder).status().unwrap().success());
        Self(folder)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_passes() {
    let Some(mut machine) = Machine::new("full") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let _disk = SmallDisk::over(folder.path());
    machine.put_on(folder.path());
    let runtime = machine.runtime().await;
    let script = "sh dd if=/dev/zero of=/out/big bs=1M 2> /dev/shm/said; rm /out/big; \
                  cat /dev/shm/said > /out/said\nsh dd if=/dev/zero of=/out/big bs=1M 2>/dev/null; true\n\
                  dial\nstay";
    let greedy = machine.spec("s-greedy", Image::Host, script);
    runtime.place(&greedy).await.unwrap();
    let _shim = machine.hub.accept().unwrap();
    let said = folder.path().join("containers/s-greedy/outputs/m0/said");
    assert!(
        fs::read_to_string(said)
            .unwrap()
            .contains("No space left on device")
    );

    // The next one cannot be made, and hears why.
    let next = machine.spec("s-next", Image::Host, "sh echo fine > /out/fine");
    let error = runtime.place(&next).await.unwrap_err();
    assert!(
        error.to_string().contains("No space left on device"),
        "{error}"
    );

    // Once the greedy one is gone there is room again.
    runtime.destroy(&greedy.handle).await.unwrap();
    runtime.place(&next).await.unwrap();
    gone(&runtime, &next.handle).await;
    let out = machine.sealed(&runtime, &next.handle).await;
    assert!(out.join("fine").exists());
    runtime.destroy(&next.handle).await.unwrap();
}
