//! Finds out whether the kernel makes overlays, from which every step gets its root.
//!
//! The overlay is configured as those of steps are, of empty folders, and never mounted: it goes
//! with its descriptor, and no process ever sees it.

use std::{
    fs, io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    mount::{FsOpenFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsopen},
};

use crate::{Error, rootless};

/// The kernel's name for the file system of overlays.
const OVERLAY: &str = "overlay";

/// Checks that the kernel makes an overlay of folders below `folder`.
pub(crate) fn check(folder: &Path) -> Result<(), Error> {
    check_kind(OVERLAY, folder)
}

fn check_kind(kind: &str, folder: &Path) -> Result<(), Error> {
    let no_overlay = |source: io::Error| Error::NoOverlay {
        path: folder.to_owned(),
        source,
    };
    let context = match fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(context) => context,
        // An old kernel, or a user who may not mount here: neither says anything about overlays.
        Err(Errno::NOSYS | Errno::PERM) => return Ok(()),
        Err(error) => return Err(no_overlay(error.into())),
    };
    let scratch = Scratch::new(folder).map_err(Error::disk(folder))?;
    configure(&context, &scratch.0).map_err(no_overlay)
}

/// Makes the overlay. The layers are named by descriptors, as those of steps are.
fn configure(context: &OwnedFd, scratch: &Path) -> io::Result<()> {
    let mut opened = Vec::new();
    for (key, name) in [
        ("lowerdir", "lower"),
        ("upperdir", "upper"),
        ("workdir", "work"),
    ] {
        let folder = scratch.join(name);
        fs::create_dir(&folder)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&folder, flags, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        fsconfig_set_string(context, key, path)?;
        opened.push(folder);
    }
    if rootless::is_inside() {
        fsconfig_set_flag(context, "userxattr")?;
    }
    fsconfig_create(context)?;
    Ok(())
}

/// A folder that goes with the probe.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path) -> io::Result<Self> {
        // One for each process: `airside doctor` may look at the folder of a server.
        let path = folder.join(format!(".overlay-probe-{}", std::process::id()));
        // A process of this number may have been killed in the middle of it.
        let _ = airside_archive::remove(&path);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = airside_archive::remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_overlays_is_refused_with_words() {
        let folder = tempfile::tempdir().unwrap();
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let error = check_kind("airside-no-such", folder.path()).unwrap_err();
        let words = airside_model::chain(&error);
        assert!(words.contains("`modprobe overlay`"), "{words}");
        assert!(words.contains("No such device"), "{words}");
    }

    #[test]
    fn a_probe_leaves_nothing() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        check(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
