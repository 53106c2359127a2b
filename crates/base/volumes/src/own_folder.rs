//! Folders of one process among several that share a place on the disk.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use airside_model::chain;

/// A folder of this process alone, below one that several processes share. It goes with the value,
/// and what killed processes left goes when the next folder is made.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    _lock: File,
}

impl OwnFolder {
    /// Makes an empty folder below `parent`, which is made too if it is missing. Blocks.
    pub fn below(parent: &Path) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(parent)?;
        let turn = File::open(parent)?;
        turn.lock()?;
        let rubbish = abandoned(parent)?;
        let own = Self::first_free(parent)?;
        // Their locks keep others from removing them as well.
        drop(turn);
        for folder in rubbish {
            drop(folder);
        }
        Ok(own)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn first_free(parent: &Path) -> io::Result<Self> {
        for number in 0_u64.. {
            let path = parent.join(number.to_string());
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let own = Self::lock(path)?;
                    return own.ok_or_else(|| io::ErrorKind::WouldBlock.into());
                }
            }
        }
        Err(io::ErrorKind::StorageFull.into())
    }

    /// Takes the folder, unless another process has it. The kernel lets go of the lock when that
    /// process ends, however it ends.
    fn lock(path: PathBuf) -> io::Result<Option<Self>> {
        let lock = File::open(&path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if let Err(error) = airside_archive::remove(&self.path) {
            tracing::warn!(
                path = %self.path.display(), error = %chain(&error),
                "scratch folder not removed"
            );
        }
    }
}

/// Takes all folders that no process has.
fn abandoned(parent: &Path) -> io::Result<Vec<OwnFolder>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(OwnFolder::lock(entry.path())?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_process_has_goes_and_the_rest_stays() {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path().join("tmp");
        let mine = OwnFolder::below(&parent).unwrap();
        fs::write(mine.path().join("file"), "x").unwrap();
        let left = parent.join("77");
        fs::create_dir(&left).unwrap();
        let other = OwnFolder::below(&parent).unwrap();
        assert!(!left.exists());
        assert!(mine.path().join("file").exists());
        assert_ne!(mine.path(), other.path());
        drop(other);
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1);
    }
}
