//! Trees nested deeper than a process may open files.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use airside_archive::{Limits, clear, remove, set_aside, unpack_plain};
use rustix::{
    fs::{CWD, Mode, OFlags},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use tar::{EntryType, Header};
use tempfile::tempdir;

const DEPTH: usize = 3_000;

/// Limits the open files of this program to far fewer than there are levels.
fn few_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(256);
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

/// Nests folders below `top`, with a file and a link in each.
fn nest(top: &Path, depth: usize) {
    fs::create_dir_all(top).unwrap();
    let flags = OFlags::DIRECTORY | OFlags::PATH;
    let mut folder = rustix::fs::openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
        rustix::fs::symlinkat("/", &folder, "out").unwrap();
        folder = rustix::fs::openat(&folder, "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn hostile_depth_does_not_keep_a_tree_from_being_removed() {
    few_files();
    let outer = tempdir().unwrap();
    let tree = outer.path().join("tree");
    nest(&tree, DEPTH);
    nest(&tree.join("side/by/side"), 300);
    // Names that the removal takes for itself are the stranger's, too.
    nest(&tree.join(".airside-removes-0"), 3);
    fs::write(tree.join(".airside-removes-1"), "").unwrap();
    remove(&tree).unwrap();
    assert!(!tree.exists());
    remove(&tree).unwrap();
}

#[test]
fn hostile_links_are_removed_and_not_followed() {
    let outer = tempdir().unwrap();
    let kept = outer.path().join("kept/inner");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("file"), "kept").unwrap();
    let tree = outer.path().join("tree");
    fs::create_dir_all(tree.join("a")).unwrap();
    symlink(outer.path().join("kept"), tree.join("a/link")).unwrap();
    symlink(outer.path().join("kept"), outer.path().join("link")).unwrap();
    remove(&tree).unwrap();
    remove(&outer.path().join("link")).unwrap();
    assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "kept");
    clear(&outer.path().join("kept")).unwrap();
    assert_eq!(names(outer.path()), ["kept"]);
    assert_eq!(names(&outer.path().join("kept")), [""; 0]);
}

#[test]
fn hostile_rubbish_is_set_aside_at_once_and_removed_later() {
    few_files();
    let outer = tempdir().unwrap();
    let tmp = outer.path().join("tmp");
    // What an earlier start set aside and had no time to remove.
    nest(&outer.path().join("tmp.old-0"), DEPTH);
    fs::create_dir(outer.path().join("tmp.old-else")).unwrap();
    nest(&tmp, DEPTH);
    set_aside(&tmp).unwrap();
    assert!(!tmp.exists());
    let end = Instant::now() + Duration::from_secs(120);
    while names(outer.path()) != ["tmp.old-else"] {
        assert!(Instant::now() < end, "{:?} stay", names(outer.path()));
        std::thread::sleep(Duration::from_millis(10));
    }
    set_aside(&tmp).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// An archive of a few kilobytes whose links lead deeper and deeper.
struct Nesting(Vec<u8>);

impl Nesting {
    fn add(&mut self, kind: EntryType, name: &str, link: &str) {
        for (kind, long) in [
            (EntryType::GNULongName, name),
            (EntryType::GNULongLink, link),
        ] {
            self.block(kind, "././@LongLink", "", long.as_bytes());
        }
        self.block(kind, "x", "x", b"");
    }

    fn block(&mut self, kind: EntryType, name: &str, link: &str, data: &[u8]) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(data.len() as u64);
        let fields = header.as_old_mut();
        fields.name[..name.len()].copy_from_slice(name.as_bytes());
        fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
    }
}

#[test]
fn hostile_links_do_not_nest_deeper_than_names_may() {
    for kind in [EntryType::Regular, EntryType::Directory] {
        let mut tar = Nesting(Vec::new());
        let down = "d/".repeat(400);
        for number in 0..6 {
            let link = match number {
                0 => format!("{down}d"),
                _ => format!("l{}/{down}d", number - 1),
            };
            tar.add(EntryType::Directory, &format!("{link}/d"), "");
            tar.add(EntryType::Symlink, &format!("l{number}"), &link);
            tar.add(kind, &format!("l{number}/d/x"), "");
        }
        assert!(tar.0.len() < 50_000, "{} bytes", tar.0.len());
        let dest = tempdir().unwrap();
        let limits = Limits {
            bytes: 1 << 20,
            entries: 1_000,
        };
        let error = unpack_plain(tar.0.as_slice(), dest.path(), &limits).unwrap_err();
        assert!(error.to_string().contains("512 folders deep"), "{error}");
        assert!(depth(dest.path()) <= 512);
        // A removal by the standard library would take a file for each level, which the other tests
        // lack.
        remove(dest.path()).unwrap();
    }
}

fn depth(top: &Path) -> usize {
    let mut path = PathBuf::from(top);
    let mut depth = 0;
    while path.join("d").is_dir() {
        path.push("d");
        depth += 1;
    }
    depth
}
