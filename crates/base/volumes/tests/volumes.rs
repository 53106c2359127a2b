//! Volumes on a real disk.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use airside_archive::{HashingReader, Limits};
use airside_model::VolumeId;
use airside_volumes::{Error, Volumes};
use tempfile::{TempDir, tempdir};

fn store() -> (TempDir, Volumes) {
    let root = tempdir().unwrap();
    let volumes = Volumes::open(root.path()).unwrap();
    (root, volumes)
}

fn tree(root: &Path, text: &str) -> std::path::PathBuf {
    let dir = root.join("made");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("file"), text).unwrap();
    dir
}

fn leftovers(root: &TempDir) -> usize {
    fs::read_dir(root.path().join("tmp")).unwrap().count()
}

#[test]
fn adopting_seals_once() {
    let (root, volumes) = store();
    let id = VolumeId::new("v-1");
    assert!(!volumes.exists(&id));
    let dir = tree(root.path(), "first");
    volumes.adopt(&dir, &id).unwrap();
    assert!(!dir.exists());
    // The rename happened, its caller crashed, and asks again.
    volumes.adopt(&dir, &id).unwrap();
    // A second step made the same volume: the sealed one stays.
    let again = tree(root.path(), "second");
    volumes.adopt(&again, &id).unwrap();
    assert!(!again.exists());
    assert_eq!(
        fs::read_to_string(volumes.path(&id).unwrap().join("file")).unwrap(),
        "first"
    );
    assert_eq!(volumes.list().unwrap(), [id]);
    assert_eq!(leftovers(&root), 0);
}

#[test]
fn what_is_sent_can_be_received() {
    let (root, volumes) = store();
    let (from, to) = (VolumeId::new("a"), VolumeId::new("b"));
    volumes.adopt(&tree(root.path(), "text"), &from).unwrap();
    let mut stream = Vec::new();
    volumes.send(&from, &mut stream).unwrap();

    let receiving = volumes.receive(&to).unwrap();
    let mut reader = HashingReader::new(stream.as_slice());
    receiving.unpack(&mut reader, &Limits::UNBOUNDED).unwrap();
    assert_eq!(reader.finish().1.bytes, stream.len() as u64);
    assert!(!volumes.exists(&to), "nothing is there before the commit");
    receiving.commit().unwrap();
    assert_eq!(
        fs::read_to_string(volumes.path(&to).unwrap().join("file")).unwrap(),
        "text"
    );
    assert_eq!(leftovers(&root), 0);
}

#[test]
fn what_is_not_committed_leaves_nothing() {
    let (root, volumes) = store();
    let id = VolumeId::new("a");
    let receiving = volumes.receive(&id).unwrap();
    fs::write(receiving.dir().join("part"), "x").unwrap();
    assert!(receiving.unpack(&b"noise"[..], &Limits::UNBOUNDED).is_err());
    drop(receiving);
    assert!(!volumes.exists(&id));
    assert_eq!(leftovers(&root), 0);
}

#[test]
fn opening_sweeps_what_a_crash_left() {
    let (root, volumes) = store();
    let id = VolumeId::new("kept");
    volumes.adopt(&tree(root.path(), "x"), &id).unwrap();
    std::mem::forget(volumes.receive(&VolumeId::new("lost")).unwrap());
    assert_eq!(leftovers(&root), 1);
    let volumes = Volumes::open(root.path()).unwrap();
    assert_eq!(leftovers(&root), 0);
    assert!(volumes.exists(&id));
}

#[test]
fn removing_twice_is_fine() {
    let (root, volumes) = store();
    let id = VolumeId::new("a");
    volumes.adopt(&tree(root.path(), "x"), &id).unwrap();
    volumes.remove(&id).unwrap();
    volumes.remove(&id).unwrap();
    assert!(!volumes.exists(&id) && leftovers(&root) == 0);
    assert!(matches!(
        volumes.send(&id, Vec::new()),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn ids_that_are_paths_are_refused() {
    let (_root, volumes) = store();
    for id in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\0b",
        ".hidden",
        &"x".repeat(300),
    ] {
        let id = VolumeId::new(id);
        assert!(
            matches!(volumes.receive(&id), Err(Error::BadId { .. })),
            "{id:?}"
        );
        assert!(volumes.remove(&id).is_err() && volumes.path(&id).is_none());
    }
}
