//! A data folder on overlayfs, as in many containers for developers: no container can stand on it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{fs, path::PathBuf, process::Command};

use airside_runtime::{Image, Runtime, Shape};
use common::Machine;

/// An overlayfs that goes with the test, also after a failure.
struct Overlay(PathBuf);

impl Overlay {
    fn mount(folder: PathBuf) -> Self {
        let inner = |name: &str| {
            let path = folder.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (lower, upper) = (inner("lower"), inner("upper"));
        let (work, place) = (inner("work"), inner("place"));
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o", &options]);
        assert!(mount.arg(&place).status().unwrap().success());
        Self(place)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn steps_on_overlayfs_are_refused_with_words() {
    let Some(mut machine) = Machine::new("overlay") else {
        return;
    };
    let overlay = Overlay::mount(machine.root.path().join("overlay"));
    machine.put_on(&overlay.0);
    let runtime = machine.runtime().await;
    let condition = runtime.condition().unwrap().borrow().clone();
    assert!(condition.stalled.is_some(), "it is not shown as running");
    let words = condition.cannot(&[Shape::Plain]).unwrap();
    assert!(words.contains("is on overlayfs"), "{words}");
    let spec = machine.spec("s-overlay", Image::Host, "");
    let error = runtime.place(&spec).await.unwrap_err().to_string();
    assert!(
        error.contains("is on overlayfs") && error.contains("--data"),
        "{error}"
    );
}
