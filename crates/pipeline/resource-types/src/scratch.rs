//! A private folder for as long as an action lasts: keys, credentials, half-made trees.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::Failure;

/// A folder that only this user may read, and that is removed with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failure> {
        Self::within(&std::env::temp_dir())
    }

    pub(crate) fn within(parent: &Path) -> Result<Self, Failure> {
        let process = std::process::id();
        // A container that holds nothing but the shim need not have it.
        fs::create_dir_all(parent).map_err(Failure::io(parent))?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("airside-{process}-{number}"));
            // A folder that is there already belongs to another process.
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::Io { path, error }),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file that only this user may read.
    pub(crate) fn secret(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        self.file(name, text, 0o600)
    }

    pub(crate) fn file(&self, name: &str, text: &str, mode: u32) -> Result<PathBuf, Failure> {
        use std::{io::Write, os::unix::fs::OpenOptionsExt};
        let path = self.0.join(name);
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(Failure::io(&path))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed goes with the container, and is unreadable to others until then.
        let _ = airside_archive::remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_inside_is_private_and_goes_away() {
        let scratch = Scratch::new().unwrap();
        let secret = scratch.secret("key", "k").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(scratch.path()), mode(&secret)), (0o700, 0o600));
        let other = Scratch::new().unwrap();
        assert_ne!(scratch.path(), other.path());
        drop(scratch);
        assert!(!secret.exists());
    }
}
