//! Files that processes hold while they use what is beside them.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// Holds the file together with others that hold it, until the value is dropped or the process
/// ends. `None` if there is no such file, or if it was just removed. Blocks for as long as
/// [`take_unheld`] has it.
pub fn hold(path: &Path) -> io::Result<Option<File>> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    file.lock_shared()?;
    Ok(is_at(&file, path)?.then_some(file))
}

/// Takes a file that no process holds, so that it can be removed. `None` if one does, or if there
/// is no such file.
pub fn take_unheld(path: &Path) -> io::Result<Option<File>> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    match file.try_lock() {
        Ok(()) => Ok(is_at(&file, path)?.then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if the file is still the one at the path: it may have been removed, or replaced,
/// before it was locked.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_cannot_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(hold(&path).unwrap().is_none());
        fs::write(&path, "x").unwrap();
        let (one, other) = (hold(&path).unwrap(), hold(&path).unwrap());
        assert!(one.is_some() && other.is_some());
        drop(one);
        assert!(take_unheld(&path).unwrap().is_none());
        drop(other);
        assert!(take_unheld(&path).unwrap().is_some());
    }

    #[test]
    fn a_file_that_was_replaced_is_not_the_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        fs::rename(&path, folder.path().join("away")).unwrap();
        assert!(!is_at(&file, &path).unwrap());
        fs::write(&path, "y").unwrap();
        assert!(!is_at(&file, &path).unwrap());
    }
}
