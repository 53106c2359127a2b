//! A folder for what a guest writes while it runs: keys, clones. It goes with the guest, however
//! that ended, so that guests after it find nothing of it.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, lchown},
    path::PathBuf,
};

use crate::{log::log, users::User};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder; `id` is unique.
    pub(crate) fn make(id: &str, user: &User) -> io::Result<Self> {
        let parent = std::env::temp_dir();
        // A container that holds nothing but the shim need not have it.
        fs::create_dir_all(&parent)?;
        let path = parent.join(format!("airside-guest-{id}"));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let scratch = Self(path);
        if !user.is_root() {
            lchown(&scratch.0, Some(user.uid), Some(user.gid))?;
        }
        Ok(scratch)
    }

    pub(crate) fn path(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = airside_archive::remove(&self.0) {
            log(format_args!("{} stays: {error}", self.0.display()));
        }
    }
}
