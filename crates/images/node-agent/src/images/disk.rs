//! Usage of the file system that images are on.

use std::{io, path::Path};

/// Bytes, as ordinary users are counted: what is kept for root is not capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) used: u64,
    pub(crate) capacity: u64,
}

impl Usage {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let told = rustix::fs::statvfs(path)?;
        let used = (told.f_blocks - told.f_bfree) * told.f_frsize;
        Ok(Self {
            used,
            capacity: used + told.f_bavail * told.f_frsize,
        })
    }

    pub(crate) fn percent(self) -> u64 {
        match self.capacity {
            0 => 0,
            capacity => self.used.saturating_mul(100) / capacity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_a_disk() {
        let usage = Usage::of(Path::new("/")).unwrap();
        assert!(usage.capacity > 0 && usage.used <= usage.capacity && usage.percent() <= 100);
        assert!(Usage::of(Path::new("/no/such/folder")).is_err());
        assert_eq!(Usage::default().percent(), 0);
    }
}
