//! No archive may panic the unpacker, write outside its folder, or get past its limits.
//!
//! Bytes are taken as an archive as they are, or as a list of entries from which one is made whose
//! checksums are right.
#![no_main]

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use airside_archive::{Limits, unpack, unpack_layer, unpack_plain};
use libfuzzer_sys::fuzz_target;
use tar::{EntryType, Header};

const LIMITS: Limits = Limits {
    bytes: 1 << 16,
    entries: 64,
};

const KINDS: [EntryType; 9] = [
    EntryType::Regular,
    EntryType::Directory,
    EntryType::Symlink,
    EntryType::Link,
    EntryType::Char,
    EntryType::Fifo,
    EntryType::XHeader,
    EntryType::GNULongName,
    EntryType::GNULongLink,
];

/// Words that are worth trying, besides what the fuzzer finds.
const WORDS: [&str; 12] = [
    "a", "a/b", "..", "../outside", "/", "/outside", "a/../../outside", ".wh.a", ".wh..wh..opq", ".", "a/", "b",
];

fn entry(bytes: &mut &[u8], archive: &mut Vec<u8>) -> Option<()> {
    let mut take = || {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(*first)
    };
    let (kind, name, link, mode, size) = (take()?, take()?, take()?, take()?, take()?);
    let mut header = Header::new_ustar();
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let name = WORDS[usize::from(name) % WORDS.len()];
    let link = WORDS[usize::from(link) % WORDS.len()];
    let content = &bytes[..bytes.len().min(size.into())];
    *bytes = &bytes[content.len()..];
    let fields = header.as_ustar_mut()?;
    fields.name[..name.len()].copy_from_slice(name.as_bytes());
    fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(u32::from(mode) * 16);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1);
    header.set_size(content.len() as u64);
    header.set_cksum();
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(512), 0);
    Some(())
}

fn archive(mut bytes: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    while entry(&mut bytes, &mut archive).is_some() {}
    archive.extend([0; 1024]);
    archive
}

/// No more in the folder than the limits allow, and nothing in it leads elsewhere by a hard link.
fn bounded(dir: &Path, outside: u64) {
    let mut open = vec![dir.to_owned()];
    let (mut entries, mut bytes) = (0, 0);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(found) = entry.path().symlink_metadata() else {
                continue;
            };
            assert_ne!(found.ino(), outside, "{:?}", entry.path().as_os_str().as_bytes());
            entries += 1;
            bytes += if found.is_file() { found.len() } else { 0 };
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    // Folders on the way to an entry come with it.
    assert!(entries <= 4 * LIMITS.entries && bytes <= LIMITS.bytes * 2, "{entries} {bytes}");
}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let home = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let (dest, outside) = (home.path().join("dest"), home.path().join("outside"));
    fs::create_dir(&dest).expect("a folder");
    fs::write(&outside, "untouched").expect("a file");
    let before = outside.metadata().expect("it is there");
    let made = archive(data);
    let _ = match how % 5 {
        0 => unpack(data, &dest, &LIMITS),
        1 => unpack_plain(data, &dest, &LIMITS),
        2 => unpack_layer(data, &dest, &LIMITS),
        3 => unpack_plain(&made[..], &dest, &LIMITS),
        _ => unpack_layer(&made[..], &dest, &LIMITS),
    };
    assert_eq!(fs::read(&outside).expect("it is there"), b"untouched");
    let after = outside.metadata().expect("it is there");
    assert_eq!((before.mode(), before.nlink()), (after.mode(), after.nlink()));
    let beside = fs::read_dir(home.path()).expect("it is there").count();
    assert_eq!(beside, 2, "something was made outside");
    bounded(&dest, before.ino());
});
