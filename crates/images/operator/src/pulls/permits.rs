//! Permits to pull: a bounded number in the cluster, the biggest need first. No clock is read.

use std::{
    cmp::Reverse,
    collections::HashMap,
    time::{Duration, Instant},
};

use rand::Rng as _;

/// Time after which a place that was not asked for again goes to another pull.
pub(crate) const PERMIT_LIFETIME: Duration = Duration::from_secs(120);
/// Pause before an agent asks again if others go first.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(2);
/// Time after which an agent that has not asked again no longer waits.
const WAITING_TIMEOUT: Duration = Duration::from_secs(8);

/// One image for one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pull {
    pub(crate) node: String,
    pub(crate) image: String,
    pub(crate) digest: String,
}

/// The bigger the sooner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    pub(crate) priority: i32,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Permits {
    most: usize,
    granted: HashMap<Pull, Granted>,
    waiting: HashMap<Pull, Waiting>,
}

#[derive(Debug)]
struct Granted {
    permit: String,
    until: Instant,
}

#[derive(Debug)]
struct Waiting {
    need: Need,
    since: Instant,
    asked: Instant,
}

impl Permits {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            granted: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    /// Returns a permit, the same for a pull that has one already; none if other pulls go first.
    pub(crate) fn ask(&mut self, pull: &Pull, need: Need, now: Instant) -> Option<String> {
        self.granted.retain(|_, granted| granted.until > now);
        self.waiting
            .retain(|_, waiting| now.saturating_duration_since(waiting.asked) < WAITING_TIMEOUT);
        if let Some(granted) = self.granted.get_mut(pull) {
            granted.until = now + PERMIT_LIFETIME;
            return Some(granted.permit.clone());
        }
        let waiting = self.waiting.entry(pull.clone());
        let waiting = waiting.or_insert(Waiting {
            need,
            since: now,
            asked: now,
        });
        (waiting.need, waiting.asked) = (need, now);
        let free = self.most.saturating_sub(self.granted.len());
        if self.place_in_line(pull) >= free {
            return None;
        }
        self.waiting.remove(pull);
        let permit = format!("{:032x}", rand::rng().random::<u128>());
        let granted = Granted {
            permit: permit.clone(),
            until: now + PERMIT_LIFETIME,
        };
        self.granted.insert(pull.clone(), granted);
        Some(permit)
    }

    /// Returns the number of waiting pulls that have more need, or as much for longer.
    fn place_in_line(&self, pull: &Pull) -> usize {
        let rank =
            |pull: &Pull, waiting: &Waiting| (Reverse(waiting.need), waiting.since, pull.clone());
        let Some(ours) = self.waiting.get(pull).map(|waiting| rank(pull, waiting)) else {
            return usize::MAX;
        };
        let all = self.waiting.iter();
        all.filter(|(other, waiting)| rank(other, waiting) < ours)
            .count()
    }

    /// Gives a place back; only the node that has it can.
    pub(crate) fn give_back(&mut self, node: &str, permit: &str) -> bool {
        let before = self.granted.len();
        self.granted
            .retain(|pull, granted| pull.node != node || granted.permit != permit);
        self.granted.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(node: &str) -> Pull {
        Pull {
            node: node.to_owned(),
            image: "r.example/a:1".to_owned(),
            digest: "sha256:1".to_owned(),
        }
    }

    fn bytes(bytes: u64) -> Need {
        Need { priority: 0, bytes }
    }

    #[test]
    fn so_many_at_once_and_again_when_one_is_given_back() {
        let (mut permits, now) = (Permits::new(2), Instant::now());
        let a = permits.ask(&pull("a"), bytes(1), now).unwrap();
        permits.ask(&pull("b"), bytes(1), now).unwrap();
        assert_eq!(permits.ask(&pull("c"), bytes(9), now), None);
        assert_eq!(
            permits.ask(&pull("a"), bytes(1), now),
            Some(a.clone()),
            "who has one keeps it"
        );
        assert!(!permits.give_back("b", &a), "another node's");
        assert!(permits.give_back("a", &a) && !permits.give_back("a", &a));
        assert!(permits.ask(&pull("c"), bytes(9), now).is_some());
    }

    #[test]
    fn the_biggest_need_goes_first_among_those_who_wait() {
        let (mut permits, now) = (Permits::new(1), Instant::now());
        let first = permits.ask(&pull("a"), bytes(1), now).unwrap();
        assert_eq!(permits.ask(&pull("small"), bytes(1), now), None);
        assert_eq!(permits.ask(&pull("big"), bytes(100), now), None);
        let urgent = Need {
            priority: 1,
            bytes: 1,
        };
        assert_eq!(permits.ask(&pull("urgent"), urgent, now), None);
        permits.give_back("a", &first);
        assert_eq!(permits.ask(&pull("small"), bytes(1), now), None);
        assert_eq!(permits.ask(&pull("big"), bytes(100), now), None);
        let urgent = permits.ask(&pull("urgent"), urgent, now).unwrap();
        permits.give_back("urgent", &urgent);
        assert_eq!(permits.ask(&pull("small"), bytes(1), now), None);
        // An agent that went away is not waited for.
        let later = now + WAITING_TIMEOUT;
        assert!(permits.ask(&pull("small"), bytes(1), later).is_some());
    }

    #[test]
    fn a_place_that_nobody_asks_for_again_goes_to_another() {
        let (mut permits, now) = (Permits::new(1), Instant::now());
        permits.ask(&pull("a"), bytes(1), now).unwrap();
        permits
            .ask(&pull("a"), bytes(1), now + PERMIT_LIFETIME / 2)
            .unwrap();
        assert_eq!(
            permits.ask(&pull("b"), bytes(1), now + PERMIT_LIFETIME),
            None,
            "it was renewed"
        );
        assert!(
            permits
                .ask(&pull("b"), bytes(1), now + PERMIT_LIFETIME * 2)
                .is_some()
        );
    }
}
