//! The use of the disk of the volumes, and its limits.

use std::{fmt, io, path::Path};

/// A disk as the server may use it: what is set aside for others is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    pub total: u64,
    pub free: u64,
}

impl Disk {
    /// The disk that `path` is on.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statvfs(path)?;
        let used = found.f_blocks.saturating_sub(found.f_bfree);
        Ok(Self {
            total: (used + found.f_bavail) * found.f_frsize,
            free: found.f_bavail * found.f_frsize,
        })
    }

    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.free)
    }

    /// True if more than this part of it is used.
    pub fn is_above(&self, percent: Percent) -> bool {
        self.used() > percent.of(self.total)
    }

    /// Returns the bytes that may be written until this part of it is used.
    pub fn room_below(&self, percent: Percent) -> u64 {
        percent.of(self.total).saturating_sub(self.used())
    }
}

/// A part of a disk, 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    pub fn new(number: u8) -> Option<Self> {
        (1..=100).contains(&number).then_some(Self(number))
    }

    fn of(self, total: u64) -> u64 {
        total / 100 * u64::from(self.0)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// Fill levels of a disk: room is made above `high`, until no more than `low` is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    pub high: Percent,
    pub low: Percent,
}

impl Default for Watermarks {
    fn default() -> Self {
        Self {
            high: Percent(95),
            low: Percent(90),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_above_a_mark_or_has_room_below_it() {
        let disk = |free| Disk { total: 1000, free };
        let high = Percent::new(95).unwrap();
        assert!(!disk(50).is_above(high));
        assert!(disk(49).is_above(high));
        assert_eq!(disk(49).room_below(high), 0);
        assert_eq!(disk(150).room_below(high), 100);
        assert_eq!(Percent::new(0), None);
        assert_eq!(Percent::new(101), None);
    }
}
