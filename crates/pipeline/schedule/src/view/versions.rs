//! KnownRanges versions of one resource.

use std::collections::{BTreeMap, HashMap};

use airside_model::{ResourceVersionId, Version};

use super::known::{KnownRanges, OrderKey};
use crate::Order;
use crate::history::{Placed, VersionState};

#[derive(Debug, Default)]
pub(super) struct ResourceView {
    /// Versions by place. Each of them has a state.
    places: BTreeMap<Order, ResourceVersionId>,
    known: KnownRanges<Order>,
    /// `None` for one that the resource does not have.
    states: HashMap<ResourceVersionId, Option<VersionState>>,
    /// Few: one for each pin in use.
    pins: Vec<(Version, Option<ResourceVersionId>)>,
}

impl ResourceView {
    pub(super) fn size(&self) -> usize {
        self.states.len()
    }

    /// `None` if it is not known.
    pub(super) fn state(&self, version: ResourceVersionId) -> Option<Option<VersionState>> {
        self.states.get(&version).copied()
    }

    /// `Err` has the place below which nothing is known.
    pub(super) fn newest_enabled(&self, up_to: Order) -> Result<Option<Placed>, Order> {
        let mut from = up_to;
        loop {
            let (low, _) = self.known.around(from).ok_or(from)?;
            let mut stretch = self.places.range(low..=from).rev();
            if let Some(found) = stretch.find_map(|place| self.enabled(place)) {
                return Ok(Some(found));
            }
            if low == Order::LOWEST {
                return Ok(None);
            }
            from = low.previous();
        }
    }

    /// `Err` has the place above which nothing is known.
    pub(super) fn next_enabled(&self, from: Order) -> Result<Option<Placed>, Order> {
        let mut from = from;
        loop {
            let (_, high) = self.known.around(from).ok_or(from)?;
            let mut stretch = self.places.range(from..=high);
            if let Some(found) = stretch.find_map(|place| self.enabled(place)) {
                return Ok(Some(found));
            }
            if high == Order::HIGHEST {
                return Ok(None);
            }
            from = high.next();
        }
    }

    fn enabled(&self, (order, version): (&Order, &ResourceVersionId)) -> Option<Placed> {
        let state = self.states.get(version).copied().flatten()?;
        state.enabled.then_some(Placed {
            order: *order,
            version: *version,
        })
    }

    pub(super) fn containing(&self, pin: &Version) -> Option<Option<ResourceVersionId>> {
        let found = self.pins.iter().find(|(known, _)| known == pin);
        found.map(|(_, version)| *version)
    }

    pub(super) fn learn_pin(&mut self, pin: &Version, version: Option<ResourceVersionId>) {
        self.pins.retain(|(known, _)| known != pin);
        self.pins.push((pin.clone(), version));
    }

    /// A version that does not exist, or where it stands now. It leaves the place it had.
    pub(super) fn put(&mut self, version: ResourceVersionId, state: Option<VersionState>) {
        let old = self.states.insert(version, state).flatten();
        if let Some(old) = old
            && self.places.get(&old.order) == Some(&version)
        {
            self.places.remove(&old.order);
        }
        if let Some(state) = state {
            self.places.insert(state.order, version);
        }
    }

    pub(super) fn learn_stretch(&mut self, low: Order, high: Order) {
        self.known.add(low, high);
    }

    pub(super) fn enable(&mut self, version: ResourceVersionId, enabled: bool) {
        if let Some(Some(state)) = self.states.get_mut(&version) {
            state.enabled = enabled;
        }
    }

    /// Forgets the versions of pins: another version may have a pin's pairs now.
    pub(super) fn forget_pins(&mut self) {
        self.pins.clear();
    }
}
