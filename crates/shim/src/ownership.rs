//! Gives whole trees to a user. Runs before the process does, so nothing changes underneath.

use std::{
    fs, io,
    os::unix::fs::lchown,
    path::{Path, PathBuf},
};

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
