//! Room for images: two marks of our own, below the kubelet's.

use std::collections::BTreeMap;

use super::{Attempts, DesiredImage, PlanInput};

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
    /// Disk usage in percent at which nothing is added.
    pub high: u8,
    /// Disk usage in percent down to which images are removed.
    pub low: u8,
    pub mode: GarbageMode,
    pub order: GarbageOrder,
    /// Bytes that may be kept from the kubelet's garbage collection.
    pub pin_budget: u64,
}

/// Behaviour at the high mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageMode {
    /// Nothing is added, nothing goes.
    Refuse,
    /// Nothing is added, and what we pulled goes until the low mark.
    Collect,
}

/// Order in which images are removed once every image that no set wants is gone.
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

    pub fn is_at(self, percent: u8) -> bool {
        self.pressure || self.used >= self.share(percent)
    }

    /// Returns the number of bytes above the mark.
    pub(super) fn above(self, percent: u8) -> u64 {
        self.used.saturating_sub(self.share(percent))
    }
}

/// Factor by which a packed and unpacked image on the disk is larger than on the wire, at least.
const PACKED_AND_UNPACKED: u64 = 2;

/// Returns true if the image fits below the high mark, or below the low mark if it was removed to
/// make room before.
pub(super) fn has_room(input: &PlanInput<'_>, wanted: &DesiredImage, attempts: Attempts) -> bool {
    fits(input, on_disk(wanted), attempts)
}

fn fits(input: &PlanInput<'_>, size: u64, attempts: Attempts) -> bool {
    let mark = if attempts.collected {
        input.rules.low
    } else {
        input.rules.high
    };
    let after = Disk {
        used: input.disk.used.saturating_add(size),
        ..input.disk
    };
    !input.disk.is_at(input.rules.high) && !after.is_at(mark)
}

fn on_disk(wanted: &DesiredImage) -> u64 {
    wanted.size.saturating_mul(PACKED_AND_UNPACKED)
}

/// Room that begun pulls will take, by content. The runtime does not report how much of it is on
/// the disk already, so all of it counts until they end.
pub(super) struct UnderWay(BTreeMap<String, u64>);

impl UnderWay {
    pub(super) fn of(input: &PlanInput<'_>) -> Self {
        let mut all = Self(BTreeMap::new());
        let wanted = input.desired.iter();
        let begun = wanted.filter(|wanted| input.pulling.contains(&wanted.content.to_string()));
        begun.for_each(|wanted| all.add(wanted));
        all
    }

    pub(super) fn add(&mut self, wanted: &DesiredImage) {
        self.0.insert(wanted.content.to_string(), on_disk(wanted));
    }

    /// Returns true if the image fits beside the begun pulls.
    pub(super) fn leaves_room(
        &self,
        input: &PlanInput<'_>,
        wanted: &DesiredImage,
        attempts: Attempts,
    ) -> bool {
        let content = wanted.content.to_string();
        let others = self.0.iter().filter(|(other, _)| **other != content);
        let size = others.fold(on_disk(wanted), |sum, (_, size)| sum.saturating_add(*size));
        self.0.is_empty() || fits(input, size, attempts)
    }
}
