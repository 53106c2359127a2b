//! The machine's own programs as a root file system, without the machine's data.
//!
//! Overlayfs does not take an upper folder that lies inside of the lower one, and a step must not
//! see the data of people and services. So the root is a fresh folder with the same links at its
//! top, an overlay for each folder of programs and their configuration, and everything else empty.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, symlink},
    path::{Path, PathBuf},
};

use crate::{
    Error,
    plan::{PlannedMount, Source},
};

const SHOWN: [&str; 10] = [
    "bin", "etc", "lib", "lib32", "lib64", "libexec", "libx32", "opt", "sbin", "usr",
];
const EMPTY: [(&str, u32); 11] = [
    ("dev", 0o755),
    ("home", 0o755),
    ("mnt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/tmp", 0o1777),
];

/// Returns true if steps in the host's image see the folder.
pub fn is_shown_to_steps(folder: &Path) -> bool {
    let mut shown = SHOWN.iter().map(|name| Path::new("/").join(name));
    shown.any(|shown| folder.starts_with(shown))
}

/// Fills `rootfs` and says what to mount in it. `overlay` makes the upper and work folders of one.
pub(crate) fn assemble(
    rootfs: &Path,
    data: &Path,
    mut overlay: impl FnMut(&str, PathBuf) -> Result<Source, Error>,
) -> Result<Vec<PlannedMount>, Error> {
    let mut mounts = Vec::new();
    for name in SHOWN {
        let (theirs, ours) = (Path::new("/").join(name), rootfs.join(name));
        let Ok(kind) = fs::symlink_metadata(&theirs).map(|metadata| metadata.file_type()) else {
            continue;
        };
        if kind.is_symlink() {
            let target = fs::read_link(&theirs).map_err(Error::disk(&theirs))?;
            symlink(target, &ours).map_err(Error::disk(&ours))?;
        } else if kind.is_dir() && !data.starts_with(&theirs) {
            fs::create_dir(&ours).map_err(Error::disk(&ours))?;
            mounts.push(PlannedMount {
                at: theirs.clone(),
                what: overlay(name, theirs)?,
            });
        }
    }
    empty_folders(rootfs).map_err(Error::disk(rootfs))?;
    Ok(mounts)
}

/// Makes the folders that a root file system has at least, also where there is no image at all.
pub(crate) fn empty_folders(rootfs: &Path) -> io::Result<()> {
    for (name, mode) in EMPTY {
        let path = rootfs.join(name);
        fs::DirBuilder::new().mode(mode).create(&path)?;
        // The process's mask has no say here.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    }
    Ok(())
}
