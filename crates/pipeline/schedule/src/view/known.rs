//! The ranges of an order in which everything is known.

use airside_model::BuildId;

use crate::{BuildKey, Order};

/// A key of an order without gaps: every key has a next one.
pub(super) trait OrderKey: Copy + Ord {
    const LOWEST: Self;
    const HIGHEST: Self;
    fn next(self) -> Self;
    fn previous(self) -> Self;
}

impl OrderKey for Order {
    const LOWEST: Self = Self(i64::MIN);
    const HIGHEST: Self = Self::NEWEST;

    fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl OrderKey for BuildKey {
    const LOWEST: Self = Self {
        original: BuildId(i64::MIN),
        build: BuildId(i64::MIN),
    };
    const HIGHEST: Self = Self::NEWEST;

    fn next(self) -> Self {
        Self {
            build: BuildId(self.build.0.saturating_add(1)),
            ..self
        }
    }

    fn previous(self) -> Self {
        Self {
            build: BuildId(self.build.0.saturating_sub(1)),
            ..self
        }
    }
}

/// Returns where a walk to older builds begins. The newest key of all means the very end.
pub(super) fn before(key: BuildKey) -> BuildKey {
    if key == BuildKey::NEWEST {
        key
    } else {
        key.previous()
    }
}

/// Returns where a walk to newer builds begins.
pub(super) fn after(key: BuildKey) -> BuildKey {
    key.next()
}

/// Closed ranges, apart from each other and sorted.
#[derive(Clone, Debug)]
pub(super) struct KnownRanges<P>(Vec<(P, P)>);

impl<P> Default for KnownRanges<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: OrderKey> KnownRanges<P> {
    /// Marks everything between the two as known, both included.
    pub(super) fn add(&mut self, low: P, high: P) {
        if low > high {
            return;
        }
        let first = self.0.partition_point(|(_, end)| end.next() < low);
        let last = self
            .0
            .partition_point(|(start, _)| start.previous() <= high);
        let low = self.0[first..last].first().map_or(low, |s| s.0.min(low));
        let high = self.0[first..last].last().map_or(high, |s| s.1.max(high));
        self.0.splice(first..last, [(low, high)]);
    }

    /// Returns the range that a key lies in.
    pub(super) fn around(&self, place: P) -> Option<(P, P)> {
        let at = self.0.partition_point(|(_, end)| *end < place);
        self.0.get(at).copied().filter(|(start, _)| *start <= place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(stretches: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut known = KnownRanges::default();
        for (low, high) in stretches {
            known.add(Order(*low), Order(*high));
        }
        known.0.iter().map(|(low, high)| (low.0, high.0)).collect()
    }

    #[test]
    fn stretches_that_touch_become_one() {
        assert_eq!(known(&[(1, 3), (7, 9)]), [(1, 3), (7, 9)]);
        assert_eq!(known(&[(7, 9), (1, 3), (4, 6)]), [(1, 9)]);
        assert_eq!(known(&[(1, 3), (7, 9), (2, 8)]), [(1, 9)]);
        assert_eq!(known(&[(1, 9), (4, 5)]), [(1, 9)]);
        assert_eq!(known(&[(5, 4)]), []);
        let all = (i64::MIN, i64::MAX);
        assert_eq!(known(&[(5, i64::MAX), (i64::MIN, 4), all]), [all]);
    }

    #[test]
    fn a_place_is_in_a_stretch_or_not() {
        let mut known = KnownRanges::default();
        known.add(Order(2), Order(4));
        known.add(Order(8), Order(9));
        assert_eq!(known.around(Order(1)), None);
        assert_eq!(known.around(Order(2)), Some((Order(2), Order(4))));
        assert_eq!(known.around(Order(4)), Some((Order(2), Order(4))));
        assert_eq!(known.around(Order(5)), None);
        assert_eq!(known.around(Order(9)), Some((Order(8), Order(9))));
    }
}
