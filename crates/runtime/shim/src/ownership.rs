//! Owners of trees. Runs before the process does, so nothing changes underneath.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::{Path, PathBuf},
};

/// Gives a whole tree to a user.
pub(crate) fn give(root: &Path, uid: u32, gid: u32) -> io::Result<()> {
    let mut pending: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        lchown(&path, Some(uid), Some(gid))?;
        if fs::symlink_metadata(&path)?.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// Gives a folder, and nothing in it, to root.
pub(crate) fn take(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder)? {
        known if known.uid() == 0 && known.gid() == 0 => Ok(()),
        _ => lchown(folder, Some(0), Some(0)),
    }
}
