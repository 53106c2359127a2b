//! Limits periodic checks: in number at once, and in rate.
//!
//! Resources whose last check failed have places of their own, so few that the others never wait,
//! however many of the failing ones hang. Pure: the loop passes the time in.

use std::{collections::VecDeque, time::Duration};

use crate::check_queue::Start;

/// Maximum number of checks at once, of resources that are well and of failing ones.
const PLACES: [usize; 2] = [256, 64];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Well = 0,
    Failing = 1,
}

impl Lane {
    fn for_start(start: &Start) -> Self {
        match start.failures {
            0 => Self::Well,
            _ => Self::Failing,
        }
    }
}

/// The place that a check takes until it ends. Checks that were asked for take none.
pub(crate) type LanePlace = Option<Lane>;

pub(crate) struct Limit {
    waiting: [VecDeque<Start>; 2],
    taken: [usize; 2],
    rate: Option<Rate>,
}

struct Rate {
    between: Duration,
    next: Duration,
}

impl Limit {
    pub(crate) fn new(max_per_second: Option<f64>) -> Self {
        let rate = max_per_second.filter(|rate| *rate > 0.0).map(|rate| Rate {
            between: airside_model::scale_duration(Duration::from_secs(1), 1.0 / rate),
            next: Duration::ZERO,
        });
        Self {
            waiting: Default::default(),
            taken: [0; 2],
            rate,
        }
    }

    pub(crate) fn add(&mut self, start: Start) {
        self.waiting[Lane::for_start(&start) as usize].push_back(start);
    }

    /// Returns the next check that may begin.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<(Start, Lane)> {
        if self.rate.as_ref().is_some_and(|rate| rate.next > now) {
            return None;
        }
        for lane in [Lane::Well, Lane::Failing] {
            let index = lane as usize;
            if self.taken[index] < PLACES[index]
                && let Some(start) = self.waiting[index].pop_front()
            {
                self.taken[index] += 1;
                if let Some(rate) = &mut self.rate {
                    rate.next = airside_model::deadline_after(now, rate.between);
                }
                return Some((start, lane));
            }
        }
        None
    }

    pub(crate) fn give_back(&mut self, place: LanePlace) {
        if let Some(lane) = place {
            self.taken[lane as usize] -= 1;
        }
    }

    /// Returns when to look again if only the rate delays a check.
    pub(crate) fn next(&self) -> Option<Duration> {
        let free = |lane: usize| self.taken[lane] < PLACES[lane] && !self.waiting[lane].is_empty();
        let rate = self.rate.as_ref()?;
        (free(0) || free(1)).then_some(rate.next)
    }
}

#[cfg(test)]
mod tests {
    use airside_model::ResourceId;

    use super::*;

    fn start(id: i64, failures: u32) -> Start {
        Start {
            resource: ResourceId(id),
            asked: false,
            failures,
        }
    }

    #[test]
    fn a_thousand_that_hang_do_not_hold_up_the_others() {
        let mut limit = Limit::new(None);
        for id in 0..1000 {
            limit.add(start(id, 3));
        }
        let hang = std::iter::from_fn(|| limit.pop(Duration::ZERO)).count();
        assert_eq!(hang, PLACES[1]);
        limit.add(start(1000, 0));
        let (next, lane) = limit.pop(Duration::ZERO).unwrap();
        assert_eq!((next.resource.0, lane), (1000, Lane::Well));
        assert_eq!(limit.pop(Duration::ZERO), None);
        limit.give_back(Some(Lane::Failing));
        assert!(limit.pop(Duration::ZERO).is_some());
    }

    #[test]
    fn the_rate_is_kept() {
        let mut limit = Limit::new(Some(10.0));
        limit.add(start(1, 0));
        limit.add(start(2, 0));
        let at = Duration::from_secs(5);
        assert!(limit.pop(at).is_some());
        assert_eq!(limit.pop(at), None);
        let next = limit.next().unwrap();
        assert_eq!(next, at + Duration::from_millis(100));
        assert!(limit.pop(next).is_some());
        assert_eq!(limit.next(), None);
    }
}
