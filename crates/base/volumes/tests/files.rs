//! Reads single files from trees that are not trusted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{fs, os::unix::fs::symlink, path::Path};

use airside_model::VolumeId;
use airside_volumes::{Error, Volumes};

fn volume(root: &Path) -> (Volumes, VolumeId) {
    let volumes = Volumes::open(&root.join("volumes")).unwrap();
    let (tree, id) = (root.join("tree"), VolumeId::new("v-1"));
    fs::create_dir_all(tree.join("folder")).unwrap();
    fs::write(tree.join("folder/file"), "text").unwrap();
    fs::write(root.join("outside"), "not for you").unwrap();
    symlink("folder/file", tree.join("link")).unwrap();
    symlink("/folder/file", tree.join("absolute")).unwrap();
    symlink(root.join("outside"), tree.join("escape")).unwrap();
    symlink("../../outside", tree.join("folder/up")).unwrap();
    symlink("loop", tree.join("loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tree.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    volumes.adopt(&tree, &id).unwrap();
    (volumes, id)
}

#[test]
fn files_are_read_within_the_volume_and_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let (volumes, id) = volume(root.path());
    for (path, expected) in [
        ("folder/file", Some("text")),
        ("./folder//file", Some("text")),
        ("/folder/file", Some("text")),
        ("link", Some("text")),
        ("absolute", Some("text")),
        ("escape", None),
        ("folder/up", None),
        ("../outside", None),
        ("loop", None),
        ("pipe", None),
        ("folder", None),
        ("folder/file/more", None),
        ("missing", None),
    ] {
        let found = volumes.read_file(&id, path, 100).unwrap();
        assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{path}");
    }
}

#[test]
fn what_is_too_large_or_of_no_volume_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (volumes, id) = volume(root.path());
    assert!(volumes.read_file(&id, "link", 4).unwrap().is_some());
    let large = volumes.read_file(&id, "link", 3);
    assert!(matches!(large, Err(Error::FileTooLarge { .. })));
    let missing = volumes.read_file(&VolumeId::new("v-2"), "link", 3);
    assert!(matches!(missing, Err(Error::Missing { .. })));
}
