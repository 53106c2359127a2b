//! The ids of the machine that users of a container are outside of it.
//!
//! Trees on disk hold the ids as a step sees them; a mount translates. So the range is only a
//! matter of this machine, and may be changed while no container runs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// User and group `0..count` of a container are `first..first + count` of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdRange {
    first: u32,
    count: u32,
}

/// The range that systemd's files leave unused: above the ranges of people, services and other
/// containers, below the ids that are negative to old programs.
impl Default for IdRange {
    fn default() -> Self {
        Self {
            first: 0x7000_0000,
            count: 0x0FFF_0000,
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a range of ids: write FIRST:COUNT, both above 65535 and below 2^31 together")]
pub struct BadIdRange(String);

impl IdRange {
    pub(crate) fn first(self) -> u32 {
        self.first
    }

    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Returns the map in the kernel's format.
    pub(crate) fn map(self) -> String {
        format!("0 {} {}\n", self.first, self.count)
    }
}

impl FromStr for IdRange {
    type Err = BadIdRange;

    fn from_str(text: &str) -> Result<Self, BadIdRange> {
        let bad = || BadIdRange(text.to_owned());
        let (first, count) = text.split_once(':').ok_or_else(bad)?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0xFFFF);
        let (first, count) = number(first).zip(number(count)).ok_or_else(bad)?;
        match first.checked_add(count) {
            Some(end) if end <= i32::MAX as u32 => Ok(Self { first, count }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_checked() {
        let range: IdRange = "100000:65536".parse().unwrap();
        assert_eq!(range.map(), "0 100000 65536\n");
        assert_eq!(range.to_string(), "100000:65536");
        assert_eq!(
            IdRange::default().to_string().parse(),
            Ok(IdRange::default())
        );
        for bad in [
            "",
            "1",
            "0:65536",
            "100000:5",
            "2147418113:65536",
            "a:b",
            "4294967295:65536",
        ] {
            assert!(bad.parse::<IdRange>().is_err(), "{bad}");
        }
    }
}
