//! The size of a tree on the disk.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::OwnedFd,
    path::Path,
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// The unit of `st_blocks`, whatever the file system's own is.
const BLOCK: u64 = 512;

/// The bytes of all files and folders below a folder. A file with several names counts once for
/// each. However deep the tree is, one folder is open at a time, and no path is longer than one
/// name.
pub fn of(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut here = openat(CWD, folder, flags(), Mode::empty())?;
    let mut pending = vec![folders_in(&here, &mut bytes)?];
    while let Some(folders) = pending.last_mut() {
        if let Some(name) = folders.pop() {
            here = openat(&here, name, flags(), Mode::empty())?;
            pending.push(folders_in(&here, &mut bytes)?);
        } else {
            pending.pop();
            if !pending.is_empty() {
                here = openat(&here, c"..", flags(), Mode::empty())?;
            }
        }
    }
    Ok(bytes)
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// The folders in a folder; all that is in it is counted.
fn folders_in(folder: &OwnedFd, bytes: &mut u64) -> io::Result<Vec<CString>> {
    let mut folders = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        *bytes += u64::try_from(found.st_blocks).unwrap_or(0) * BLOCK;
        if FileType::from_raw_mode(found.st_mode).is_dir() {
            folders.push(name.to_owned());
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn hostile_deep_trees_are_measured() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", root.path().join("link")).unwrap();
        let mut here = openat(CWD, root.path(), flags(), Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&here, "deeper", Mode::RWXU).unwrap();
            here = openat(&here, "deeper", flags(), Mode::empty()).unwrap();
        }
        let size = of(root.path()).unwrap();
        assert!((100_000..100_000_000).contains(&size), "{size}");
        assert!(
            of(&root.path().join("link")).is_err(),
            "a link is not a tree"
        );
    }
}
