//! Archives made to break out or to fill the disk.

#![allow(clippy::unwrap_used)]

use std::{fs, os::unix::fs::symlink, path::Path};

use airside_archive::{Error, Limits, unpack, unpack_layer};
use tar::{EntryType, Header};
use tempfile::{TempDir, tempdir};

const LIMITS: Limits = Limits {
    bytes: 10_000,
    entries: 20,
};

struct Tar(Vec<u8>);

impl Tar {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn add(mut self, kind: EntryType, name: &str, link: &str, data: &[u8]) -> Self {
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
        self
    }

    fn file(self, name: &str, data: &str) -> Self {
        self.add(EntryType::Regular, name, "", data.as_bytes())
    }

    fn dir(self, name: &str) -> Self {
        self.add(EntryType::Directory, name, "", b"")
    }

    fn symlink(self, name: &str, target: &str) -> Self {
        self.add(EntryType::Symlink, name, target, b"")
    }

    fn unpack(mut self, dest: &Path) -> Result<(), Error> {
        self.0.extend_from_slice(&[0; 1024]);
        let packed = zstd::encode_all(self.0.as_slice(), 1).unwrap();
        unpack(packed.as_slice(), dest, &LIMITS)
    }

    fn layer(self, dest: &Path) -> Result<(), Error> {
        unpack_layer(self.0.as_slice(), dest, &LIMITS)
    }
}

/// A folder with a destination inside, and a file outside that no archive may touch.
fn sandbox() -> (TempDir, std::path::PathBuf) {
    let outer = tempdir().unwrap();
    let dest = outer.path().join("dest");
    fs::create_dir(&dest).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    (outer, dest)
}

fn untouched(outer: &TempDir) {
    let names: Vec<_> = fs::read_dir(outer.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(
        fs::read_to_string(outer.path().join("secret")).unwrap(),
        "secret"
    );
}

#[test]
fn dot_dot_names_are_refused() {
    for name in ["../secret", "a/../../secret", "a/..", ".."] {
        let (outer, dest) = sandbox();
        let error = Tar::new().file(name, "x").unpack(&dest).unwrap_err();
        assert!(matches!(error, Error::Escapes { .. }), "{name}: {error}");
        untouched(&outer);
    }
}

#[test]
fn absolute_names_land_inside() {
    let (outer, dest) = sandbox();
    let absolute = outer.path().join("secret").to_str().unwrap().to_owned();
    Tar::new().file(&absolute, "x").unpack(&dest).unwrap();
    assert_eq!(fs::read_to_string(dest.join(&absolute[1..])).unwrap(), "x");
    untouched(&outer);
}

#[test]
fn writing_through_a_symlink_stays_inside() {
    for target in ["..", "../..", "/", "../../../../../.."] {
        let (outer, dest) = sandbox();
        Tar::new()
            .symlink("up", target)
            .file("up/secret", "x")
            .unpack(&dest)
            .unwrap();
        assert_eq!(fs::read_to_string(dest.join("secret")).unwrap(), "x");
        untouched(&outer);
    }
}

#[test]
fn a_file_replaces_a_symlink_instead_of_following_it() {
    let (outer, dest) = sandbox();
    Tar::new()
        .symlink("x", "../secret")
        .file("x", "mine")
        .unpack(&dest)
        .unwrap();
    assert!(!dest.join("x").is_symlink());
    untouched(&outer);
}

#[test]
fn modes_are_not_set_through_a_symlink_that_replaced_a_directory() {
    let (outer, dest) = sandbox();
    fs::create_dir(dest.join("other")).unwrap();
    Tar::new()
        .dir("d")
        .symlink("d", "../secret")
        .unpack(&dest)
        .unwrap();
    assert!(dest.join("d").is_symlink());
    untouched(&outer);
}

#[test]
fn hard_links_cannot_name_what_is_outside() {
    for target in ["../secret", "up/../secret"] {
        let (outer, dest) = sandbox();
        let tar = Tar::new()
            .symlink("up", "..")
            .add(EntryType::Link, "x", target, b"");
        assert!(matches!(
            tar.unpack(&dest).unwrap_err(),
            Error::Escapes { .. }
        ));
        untouched(&outer);
    }
    let (outer, dest) = sandbox();
    let tar = Tar::new()
        .symlink("up", "..")
        .add(EntryType::Link, "x", "up/secret", b"");
    assert!(matches!(tar.unpack(&dest).unwrap_err(), Error::Path { .. }));
    untouched(&outer);
}

#[test]
fn hostile_hard_links_name_earlier_files_of_the_archive_and_nothing_else() {
    let link = |tar: Tar, to: &str| tar.add(EntryType::Link, "x", to, b"");
    let before = |dest: &Path| {
        fs::create_dir(dest.join("d")).unwrap();
        fs::write(dest.join("d/stood-there-before"), "").unwrap();
        symlink("stood-there-before", dest.join("d/old-link")).unwrap();
    };
    for (tar, to) in [
        (Tar::new(), "d/stood-there-before"),
        (Tar::new(), "d/old-link"),
        (Tar::new(), "d"),
        (Tar::new().file("d/f", "").symlink("l", "d"), "l/f"),
        (Tar::new().file("d/f", "").symlink("l", "d/f"), "l"),
        (Tar::new().symlink("d/l", "/etc/passwd"), "d/l"),
        (Tar::new(), "d/comes-later"),
        (Tar::new(), "x"),
    ] {
        let (outer, dest) = sandbox();
        before(&dest);
        let error = link(tar, to).file("d/comes-later", "").unpack(&dest);
        assert!(error.is_err(), "{to}");
        assert!(!dest.join("x").exists(), "{to}");
        untouched(&outer);
    }
    let (_outer, dest) = sandbox();
    before(&dest);
    link(Tar::new().file("d/f", "same"), "/d//./f")
        .unpack(&dest)
        .unwrap();
    assert_eq!(fs::read_to_string(dest.join("x")).unwrap(), "same");
}

#[test]
fn hard_links_inside_are_made() {
    let (_outer, dest) = sandbox();
    let tar = Tar::new()
        .file("a", "same")
        .add(EntryType::Link, "b", "./a", b"");
    tar.add(EntryType::Link, "b", "a", b"")
        .unpack(&dest)
        .unwrap();
    assert_eq!(fs::read_to_string(dest.join("b")).unwrap(), "same");
}

#[test]
fn a_symlink_that_stood_there_before_does_not_lead_out() {
    let (outer, dest) = sandbox();
    symlink("..", dest.join("up")).unwrap();
    Tar::new().file("up/secret", "x").unpack(&dest).unwrap();
    untouched(&outer);
}

#[test]
fn symlink_loops_are_an_error() {
    let (_outer, dest) = sandbox();
    let tar = Tar::new()
        .symlink("a", "b")
        .symlink("b", "a")
        .file("a/x", "");
    assert!(matches!(tar.unpack(&dest).unwrap_err(), Error::Path { .. }));
}

#[test]
fn devices_are_refused_in_volumes_and_left_out_of_images() {
    for kind in [EntryType::Char, EntryType::Block] {
        let (_outer, dest) = sandbox();
        let error = Tar::new()
            .add(kind, "dev", "", b"")
            .unpack(&dest)
            .unwrap_err();
        assert!(matches!(error, Error::Device { .. }), "{error}");
        Tar::new()
            .add(kind, "dev", "", b"")
            .file("f", "")
            .layer(&dest)
            .unwrap();
        assert!(dest.join("f").exists() && !dest.join("dev").exists());
    }
}

#[test]
fn limits_hold() {
    let (_outer, dest) = sandbox();
    let big = "x".repeat(6_000);
    let error = Tar::new()
        .file("a", &big)
        .file("b", &big)
        .unpack(&dest)
        .unwrap_err();
    assert!(
        matches!(error, Error::TooManyBytes { limit: 10_000 }),
        "{error}"
    );

    let many = (0..21).fold(Tar::new(), |tar, n| tar.dir(&format!("d{n}")));
    assert!(matches!(
        many.unpack(&dest).unwrap_err(),
        Error::TooManyEntries { limit: 20 }
    ));
}

#[test]
fn endless_names_trailers_and_noise_are_refused() {
    let (_outer, dest) = sandbox();
    let name = vec![b'n'; (1 << 20) + 1];
    let tar = Tar::new()
        .add(EntryType::GNULongName, "././@LongLink", "", &name)
        .file("x", "");
    assert!(matches!(tar.unpack(&dest).unwrap_err(), Error::Damaged(_)));

    let deep = "d/".repeat(600) + "x";
    let tar = Tar::new()
        .add(EntryType::GNULongName, "././@LongLink", "", deep.as_bytes())
        .file("x", "");
    let error = tar.unpack(&dest).unwrap_err();
    assert!(error.to_string().contains("512 folders deep"), "{error}");

    let mut tar = Tar::new().file("x", "");
    tar.0.resize(4 << 20, 0);
    assert!(matches!(tar.unpack(&dest).unwrap_err(), Error::Damaged(_)));

    assert!(unpack(&b"no zstd at all"[..], &dest, &LIMITS).is_err());
    assert!(matches!(
        Tar(vec![1; 512]).unpack(&dest).unwrap_err(),
        Error::Damaged(_)
    ));
    let sparse = Tar::new().add(EntryType::GNUSparse, "s", "", b"");
    assert!(matches!(
        sparse.unpack(&dest).unwrap_err(),
        Error::Unsupported { .. }
    ));
}

#[test]
fn layers_add_replace_and_remove() {
    let (outer, dest) = sandbox();
    Tar::new()
        .dir("etc")
        .file("etc/a", "1")
        .file("etc/b", "1")
        .dir("var")
        .file("var/old", "1")
        .dir("gone")
        .file("gone/x", "1")
        .dir("usr/lib")
        .symlink("lib", "usr/lib")
        .layer(&dest)
        .unwrap();
    Tar::new()
        .file("etc/b", "2")
        .file("etc/.wh.a", "")
        .file(".wh.gone", "")
        .dir("var")
        .file("var/.wh..wh..opq", "")
        .file("var/new", "2")
        .file("lib/so", "2")
        .file(".wh.never-there", "")
        .layer(&dest)
        .unwrap();
    assert!(!dest.join("etc/a").exists() && !dest.join("gone").exists());
    assert_eq!(fs::read_to_string(dest.join("etc/b")).unwrap(), "2");
    assert!(!dest.join("var/old").exists() && dest.join("var/new").exists());
    assert_eq!(fs::read_to_string(dest.join("usr/lib/so")).unwrap(), "2");
    untouched(&outer);
}

#[test]
fn whiteouts_cannot_remove_outside() {
    let (outer, dest) = sandbox();
    Tar::new()
        .symlink("up", "..")
        .file("up/.wh.secret", "")
        .layer(&dest)
        .unwrap();
    for name in [".wh.", ".wh...", ".wh..", "../.wh.secret"] {
        assert!(Tar::new().file(name, "").layer(&dest).is_err(), "{name}");
    }
    untouched(&outer);
}
