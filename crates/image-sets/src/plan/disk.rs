//! Room for images: two marks of our own, below the kubelet's.

use super::{Attempts, Look, Wanted};

/// The file system that images are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    pub used: u64,
    pub capacity: u64,
    /// The node says that it is out of room.
    pub pressure: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskRules {
    /// In percent. From here on nothing is added.
    pub high: u8,
    /// In percent. Down to here images are taken away.
    pub low: u8,
    pub mode: GarbageMode,
    pub order: GarbageOrder,
    /// How many bytes may be kept from the kubelet's garbage collection.
    pub pin_budget: u64,
}

/// What happens at the high mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageMode {
    /// Nothing is added, nothing goes.
    Refuse,
    /// Nothing is added, and what we pulled goes until the low mark.
    Collect,
}

/// What goes first, once everything that no set wants is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageOrder {
    Oldest,
    Largest,
}

impl Default for DiskRules {
    fn default() -> Self {
        Self {
            high: 75,
            low: 65,
            mode: GarbageMode::Collect,
            order: GarbageOrder::Oldest,
            pin_budget: u64::MAX,
        }
    }
}

impl Disk {
    fn share(self, percent: u8) -> u64 {
        self.capacity / 100 * u64::from(percent)
    }

    pub(super) fn is_at(self, percent: u8) -> bool {
        self.pressure || self.used >= self.share(percent)
    }

    /// How many bytes are above the mark.
    pub(super) fn above(self, percent: u8) -> u64 {
        self.used.saturating_sub(self.share(percent))
    }
}

/// Whether the image fits below the high mark; one that had to go before, below the low one.
pub(super) fn has_room(look: &Look<'_>, wanted: &Wanted, attempts: Attempts) -> bool {
    let mark = match attempts.collected {
        true => look.rules.low,
        false => look.rules.high,
    };
    let after = Disk {
        used: look.disk.used.saturating_add(wanted.size),
        ..look.disk
    };
    !look.disk.is_at(look.rules.high) && !after.is_at(mark)
}
