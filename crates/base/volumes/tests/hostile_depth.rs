//! Volumes that nest deeper than the server may open files.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use airside_model::VolumeId;
use airside_volumes::Volumes;
use rustix::{
    fs::{CWD, Mode, OFlags},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use tempfile::tempdir;

const DEPTH: usize = 3_000;

fn few_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(256);
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

fn nest(top: &Path) {
    fs::create_dir_all(top).unwrap();
    let flags = OFlags::DIRECTORY | OFlags::PATH;
    let mut folder = rustix::fs::openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn hostile_depth_keeps_no_volume_from_being_removed() {
    few_files();
    let root = tempdir().unwrap();
    let volumes = Volumes::open(&root.path().join("volumes")).unwrap();
    let (made, id) = (root.path().join("made"), VolumeId::new("deep"));
    nest(&made);
    volumes.adopt(&made, &id).unwrap();
    volumes.remove(&id).unwrap();
    assert!(!volumes.exists(&id));
    let left = fs::read_dir(root.path().join("volumes/tmp")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn hostile_rubbish_keeps_no_server_from_starting() {
    few_files();
    let root = tempdir().unwrap();
    // A removal that was cut off, or failed with an earlier version.
    nest(&root.path().join("tmp/7"));
    let volumes = Volumes::open(root.path()).unwrap();
    volumes.receive(&VolumeId::new("new")).unwrap();
    let end = Instant::now() + Duration::from_secs(300);
    while root.path().join("tmp.old-0").exists() {
        assert!(Instant::now() < end, "the rubbish stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}
