//! The place on the disk of trees that come and go.

use std::path::Path;

use airside_model::chain;
use rustix::fs::{CWD, IFlags, Mode, OFlags};

/// Asks the file system to put each new folder of `dir` far from the others.
///
/// An ext4 without a journal does not reuse an inode for minutes after it was freed, and to make a
/// file it steps over every such inode of the folder's group. Beside a tree of 20,000 files that
/// was just removed, another one takes half a minute instead of a second, unless it is in another
/// group. A file system that does not know this is left as it is.
pub fn spread_folders(dir: &Path) {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let spread = rustix::fs::openat(CWD, dir, flags, Mode::empty()).and_then(|folder| {
        let attributes = rustix::fs::ioctl_getflags(&folder)?;
        if attributes.contains(IFlags::TOPDIR) {
            return Ok(());
        }
        rustix::fs::ioctl_setflags(&folder, attributes | IFlags::TOPDIR)
    });
    if let Err(error) = spread {
        tracing::debug!(dir = %dir.display(), error = %chain(&error), "folders not spread over the disk");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_so_where_the_file_system_can_and_nothing_fails_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        spread_folders(dir.path());
        spread_folders(dir.path());
        spread_folders(&dir.path().join("missing"));
        let folder = std::fs::File::open(dir.path()).unwrap();
        const EXT4: u64 = 0xef53;
        if rustix::fs::fstatfs(&folder).unwrap().f_type as u64 == EXT4 {
            let attributes = rustix::fs::ioctl_getflags(&folder).unwrap();
            assert!(attributes.contains(IFlags::TOPDIR));
        }
    }
}
