//! A data folder on overlayfs, as in many containers for developers, where no step can run: people
//! learn it where they look.

use std::{fs, path::Path, process::Command};

use airside_scenarios::{
    Run, ServerOptions,
    pipelines::{job, task},
    wait_until,
};

/// An overlayfs that goes with the test, also after a failure.
struct Overlay(tempfile::TempDir);

impl Overlay {
    fn mount(place: &Path) -> Self {
        let layers = tempfile::tempdir_in("/dev/shm").unwrap();
        let inner = |name: &str| {
            let path = layers.path().join(name);
            fs::create_dir(&path).unwrap();
            path.display().to_string()
        };
        let (lower, upper, work) = (inner("lower"), inner("upper"), inner("work"));
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "overlay", "overlay", "-o", &options])
            .arg(place);
        assert!(mount.status().unwrap().success());
        fs::write(
            layers.path().join("place"),
            place.as_os_str().as_encoded_bytes(),
        )
        .unwrap();
        Self(layers)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let place = fs::read_to_string(self.0.path().join("place")).unwrap_or_default();
        let mut umount = Command::new("umount");
        let _ = umount.arg("-l").arg(place).status();
    }
}

#[test]
fn a_run_on_overlayfs_ends_before_it_begins() {
    let run = Run::new(&job(&[task("t", "", "echo it ran")]));
    let tmp = run.path().join("tmp");
    let overlay = Overlay::mount(&tmp);
    let output = run.spawn(&[]).wait().ended_with(2);
    drop(overlay);
    run.nothing_is_left();
    assert!(
        output.stderr.contains("airside: no step can run: "),
        "{output:?}"
    );
    assert!(output.stderr.contains("is on overlayfs"), "{output:?}");
    assert!(output.stderr.contains("TMPDIR"), "{output:?}");
    assert!(!output.stdout.contains("it ran"), "{output:?}");
}

#[test]
fn a_server_on_overlayfs_shows_a_stalled_worker_and_builds_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let _overlay = Overlay::mount(folder.path());
    let server = ServerOptions::new().on_disk(folder.path()).start();
    let fly = server.fly();
    let listed = fly.run(&["workers", "-d"]).succeeded();
    assert!(listed.stdout.contains("stalled"), "{listed:?}");
    assert!(listed.stdout.contains("is on overlayfs"), "{listed:?}");
    wait_until("the health tells", || {
        let (_, health) = server.http("GET", "/api/v1/health", &[], "");
        health.contains(r#""status":"degraded""#) && health.contains(r#""running":0"#)
    });
    fly.pipeline("p", &job(&[task("t", "", "echo it ran")]));
    let output = fly.trigger_and_watch("p/job").ended_with(2);
    assert!(output.stdout.contains("is on overlayfs"), "{output:?}");
    assert!(!server.log().contains("worker running"), "{}", server.log());
}
