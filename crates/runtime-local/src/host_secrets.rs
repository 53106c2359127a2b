//! Hides from steps with the host's image what others on the machine may not read in `/etc` either.
//!
//! A step's root is root to these files. Rather than a list of names, the machine's own word counts: a
//! file or folder that is not open to everybody is covered by a mark that overlayfs takes for "removed".

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::fs::{FileType, Mode};

/// Everybody may read it.
const READABLE: u32 = 0o004;
/// Everybody may read it and walk through.
const OPEN: u32 = 0o005;

/// Covers secrets of `lower` in `upper`, which is fresh but for files that the step is to have.
pub(crate) fn hide(lower: &Path, upper: &Path) -> io::Result<()> {
    for entry in fs::read_dir(lower)? {
        let entry = entry?;
        let (below, above) = (entry.path(), upper.join(entry.file_name()));
        let metadata = match fs::symlink_metadata(&below) {
            // Somebody just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        let kind = metadata.file_type();
        let mode = metadata.permissions().mode();
        if kind.is_symlink() {
            continue;
        }
        if kind.is_dir() && mode & OPEN == OPEN {
            hide_within(&below, &above, &metadata)?;
        } else if (kind.is_dir() || mode & READABLE == 0) && !exists(&above) {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &above,
                FileType::CharacterDevice,
                Mode::empty(),
                0,
            )?;
        }
    }
    Ok(())
}

/// The folder gets a place above only for as long as there is something to hide in it.
fn hide_within(below: &Path, above: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let fresh = !exists(above);
    if fresh {
        fs::create_dir(above)?;
    }
    hide(below, above)?;
    if fresh && fs::remove_dir(above).is_err() {
        // Something is hidden in it. The upper folder's owner and mode are what the step sees.
        std::os::unix::fs::chown(above, Some(metadata.uid()), Some(metadata.gid()))?;
        fs::set_permissions(above, metadata.permissions())?;
    }
    Ok(())
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
