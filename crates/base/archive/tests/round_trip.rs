//! A tree that is packed and unpacked is the same tree.

#![allow(clippy::unwrap_used)]

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use airside_archive::{Error, Limits, pack, unpack};
use tempfile::tempdir;

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut stream = Vec::new();
    pack(from, &mut stream)?;
    unpack(
        stream.as_slice(),
        to,
        &Limits {
            bytes: 1 << 20,
            entries: 1000,
        },
    )
}

#[test]
fn contents_modes_links_and_odd_names_survive() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    let (a, b) = (from.path(), to.path());
    let long = "n".repeat(200);
    let odd = OsStr::from_bytes(b"line\nbreak\xff\xfe");
    fs::create_dir_all(a.join("empty")).unwrap();
    fs::create_dir_all(a.join(&long).join(&long)).unwrap();
    fs::write(a.join(&long).join(&long).join("deep"), "deep").unwrap();
    fs::write(a.join(odd), "odd").unwrap();
    fs::write(a.join("run"), vec![7; 1000]).unwrap();
    fs::hard_link(a.join("run"), a.join("run-too")).unwrap();
    fs::set_permissions(a.join("run"), fs::Permissions::from_mode(0o4755)).unwrap();
    symlink("../outside/./x/", a.join("dangling")).unwrap();
    symlink(&long, a.join("long-link")).unwrap();
    symlink("/etc/passwd", a.join("absolute")).unwrap();
    fs::set_permissions(a.join("empty"), fs::Permissions::from_mode(0o500)).unwrap();
    let time = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    fs::File::open(a.join("empty"))
        .unwrap()
        .set_times(time)
        .unwrap();

    copy(a, b).unwrap();

    assert_eq!(
        fs::read(b.join(&long).join(&long).join("deep")).unwrap(),
        b"deep"
    );
    assert_eq!(fs::read(b.join(odd)).unwrap(), b"odd");
    assert_eq!(fs::read(b.join("run-too")).unwrap(), vec![7; 1000]);
    assert_eq!(fs::metadata(b.join("run")).unwrap().mode() & 0o7777, 0o4755);
    let empty = fs::metadata(b.join("empty")).unwrap();
    assert_eq!((empty.mode() & 0o7777, empty.mtime()), (0o500, 0));
    assert_eq!(
        fs::read_link(b.join("dangling")).unwrap(),
        Path::new("../outside/./x/")
    );
    assert_eq!(
        fs::read_link(b.join("long-link")).unwrap(),
        Path::new(&long)
    );
    assert_eq!(
        fs::read_link(b.join("absolute")).unwrap(),
        Path::new("/etc/passwd")
    );
}

#[test]
fn files_with_several_names_stay_one_file() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    let (a, b) = (from.path(), to.path());
    let long = "n".repeat(150);
    fs::create_dir_all(a.join("sub").join(&long)).unwrap();
    fs::write(a.join("sub").join(&long).join("first"), vec![1; 100_000]).unwrap();
    for name in ["sub/second", "third"] {
        fs::hard_link(a.join("sub").join(&long).join("first"), a.join(name)).unwrap();
    }
    // One of two names is outside of the tree: inside it is a file like any other.
    let outside = tempdir().unwrap();
    fs::write(outside.path().join("other"), "other").unwrap();
    fs::hard_link(outside.path().join("other"), a.join("other")).unwrap();

    let mut stream = Vec::new();
    airside_archive::pack_plain(a, &mut stream).unwrap();
    assert!(stream.len() < 150_000, "it was packed more than once");
    let limits = Limits {
        bytes: 150_000,
        entries: 100,
    };
    airside_archive::unpack_plain(stream.as_slice(), b, &limits).unwrap();

    let names = [
        Path::new("sub").join(&long).join("first"),
        "sub/second".into(),
        "third".into(),
    ];
    let files = names.map(|name| fs::metadata(b.join(name)).unwrap());
    for file in &files {
        assert_eq!(
            (file.ino(), file.nlink(), file.len()),
            (files[0].ino(), 3, 100_000)
        );
    }
    let other = fs::metadata(b.join("other")).unwrap();
    assert_eq!((other.nlink(), other.len()), (1, 5));
}

#[test]
fn owners_survive_where_we_may_give_files_away() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(from.path().join("file"), "").unwrap();
    if std::os::unix::fs::chown(from.path().join("file"), Some(1234), Some(4_000_000)).is_err() {
        return;
    }
    copy(from.path(), to.path()).unwrap();
    let file = fs::metadata(to.path().join("file")).unwrap();
    assert_eq!((file.uid(), file.gid()), (1234, 4_000_000));
}

#[test]
fn sockets_are_left_out_and_fifos_kept() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    let _listener = UnixListener::bind(from.path().join("socket")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        from.path().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    copy(from.path(), to.path()).unwrap();
    let names: Vec<_> = fs::read_dir(to.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["fifo"]);
}

#[test]
fn equal_trees_give_equal_bytes() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    for name in ["b", "a", "c"] {
        fs::write(from.path().join(name), name).unwrap();
    }
    copy(from.path(), to.path()).unwrap();
    // Times are carried in whole seconds, so the second copy equals the first.
    let (mut first, mut second) = (Vec::new(), Vec::new());
    pack(from.path(), &mut first).unwrap();
    pack(to.path(), &mut second).unwrap();
    assert_eq!(first, second);
}

#[test]
fn a_missing_folder_is_named() {
    let error = pack(Path::new("/no/such/folder"), Vec::new()).unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[test]
fn a_truncated_stream_is_an_error() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(from.path().join("file"), vec![1; 100_000]).unwrap();
    let mut stream = Vec::new();
    pack(from.path(), &mut stream).unwrap();
    for cut in [0, 1, stream.len() / 2, stream.len() - 1] {
        let result = unpack(&stream[..cut], to.path(), &Limits::UNBOUNDED);
        assert!(cut == 0 || result.is_err(), "cut at {cut}");
    }
}

#[test]
fn a_copy_is_independent() {
    let (from, to) = (tempdir().unwrap(), tempdir().unwrap());
    fs::create_dir(from.path().join("d")).unwrap();
    fs::write(from.path().join("d/f"), vec![1; 300_000]).unwrap();
    airside_archive::copy(from.path(), to.path()).unwrap();
    fs::write(to.path().join("d/f"), "changed").unwrap();
    assert_eq!(fs::read(from.path().join("d/f")).unwrap(), vec![1; 300_000]);
    assert!(airside_archive::copy(&from.path().join("missing"), to.path()).is_err());
}
