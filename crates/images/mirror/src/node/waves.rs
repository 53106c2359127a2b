//! Waves of a blob: one node fetches it, the next nodes get it from that one, then twice as many
//! from those.
//!
//! It is pure: a book that one agent keeps for the blobs it is asked about. Nothing in it lasts: a
//! silent agent is forgotten, and an agent that waits too long fetches for itself.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    time::{Duration, Instant},
};

use airside_oci::Digest;
use serde::{Deserialize, Serialize};

/// Number of nodes that one node serves with one blob at a time.
const AT_ONCE: usize = 2;
/// Time without a report after which a fetch or a read does not count any more.
const LEASE: Duration = Duration::from_secs(45);
/// Time after which a blob that no agent asked for is forgotten.
const MEMORY: Duration = Duration::from_secs(1800);

/// Turn of a node with a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Turn {
    /// No node has it: fetch it for all.
    Fetch,
    /// This one has it, and time.
    From(SocketAddr),
    /// Another node is fetching it, or all nodes that have it are busy.
    Wait,
}

#[derive(Debug, Default)]
pub(crate) struct Waves {
    blobs: HashMap<Digest, Wave>,
}

#[derive(Debug)]
struct Wave {
    fetching: BTreeMap<SocketAddr, Instant>,
    /// Nodes that have the blob, each with the nodes that read there.
    holders: BTreeMap<SocketAddr, BTreeMap<SocketAddr, Instant>>,
    asked: Instant,
}

impl Waves {
    /// Asked again by the same node, it is the same turn, for longer.
    pub(crate) fn turn(&mut self, digest: &Digest, who: SocketAddr, now: Instant) -> Turn {
        self.blobs
            .retain(|_, wave| now.duration_since(wave.asked) < MEMORY);
        let wave = self.blobs.entry(digest.clone()).or_insert_with(|| Wave {
            fetching: BTreeMap::new(),
            holders: BTreeMap::new(),
            asked: now,
        });
        wave.asked = now;
        wave.expire(now);
        if let Some(since) = wave.fetching.get_mut(&who) {
            *since = now;
            return Turn::Fetch;
        }
        if let Some(holder) = wave.reads_from(who, now) {
            return Turn::From(holder);
        }
        let free = wave
            .holders
            .iter_mut()
            .filter(|(holder, _)| **holder != who);
        let free = free.min_by_key(|(_, readers)| readers.len());
        match free {
            Some((holder, readers)) if readers.len() < AT_ONCE => {
                readers.insert(who, now);
                Turn::From(*holder)
            }
            None if wave.fetching.is_empty() => {
                wave.fetching.insert(who, now);
                Turn::Fetch
            }
            _ => Turn::Wait,
        }
    }

    /// A turn is over, and the node has the blob or not.
    pub(crate) fn ended(&mut self, digest: &Digest, who: SocketAddr, has: bool) {
        let Some(wave) = self.blobs.get_mut(digest) else {
            return;
        };
        wave.fetching.remove(&who);
        let mut from = Vec::new();
        for (holder, readers) in &mut wave.holders {
            if readers.remove(&who).is_some() {
                from.push(*holder);
            }
        }
        if has {
            wave.holders.entry(who).or_default();
        } else {
            // A node that could not be read from counts as one without the blob.
            for holder in from {
                wave.holders.remove(&holder);
            }
        }
    }
}

impl Wave {
    fn expire(&mut self, now: Instant) {
        let lives = |since: &Instant| now.duration_since(*since) < LEASE;
        self.fetching.retain(|_, since| lives(since));
        for readers in self.holders.values_mut() {
            readers.retain(|_, since| lives(since));
        }
    }

    fn reads_from(&mut self, who: SocketAddr, now: Instant) -> Option<SocketAddr> {
        let mut own = self.holders.iter_mut();
        own.find_map(|(holder, readers)| {
            *readers.get_mut(&who)? = now;
            Some(*holder)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], number))
    }

    fn blob() -> Digest {
        Digest::of_sha256([1; 32])
    }

    #[test]
    fn one_then_two_then_four() {
        let (mut waves, now) = (Waves::default(), Instant::now());
        let mut left: Vec<SocketAddr> = (0..12).map(node).collect();
        let mut sizes = Vec::new();
        while !left.is_empty() {
            let (going, waiting): (Vec<_>, Vec<_>) = left
                .iter()
                .partition(|who| waves.turn(&blob(), **who, now) != Turn::Wait);
            sizes.push(going.len());
            for who in going {
                waves.ended(&blob(), who, true);
            }
            left = waiting;
        }
        // Each holder serves two at a time: 1, then 2, then 6, then the rest.
        assert_eq!(sizes, [1, 2, 6, 3]);
    }

    #[test]
    fn a_turn_stays_while_it_is_renewed() {
        let (mut waves, start) = (Waves::default(), Instant::now());
        assert_eq!(waves.turn(&blob(), node(1), start), Turn::Fetch);
        let later = start + LEASE / 2;
        assert_eq!(waves.turn(&blob(), node(1), later), Turn::Fetch);
        assert_eq!(waves.turn(&blob(), node(2), start + LEASE), Turn::Wait);
        // It fell silent.
        assert_eq!(waves.turn(&blob(), node(2), later + LEASE), Turn::Fetch);
    }

    #[test]
    fn who_could_not_be_read_from_holds_nothing() {
        let (mut waves, now) = (Waves::default(), Instant::now());
        waves.turn(&blob(), node(1), now);
        waves.ended(&blob(), node(1), true);
        assert_eq!(waves.turn(&blob(), node(2), now), Turn::From(node(1)));
        waves.ended(&blob(), node(2), false);
        assert_eq!(waves.turn(&blob(), node(2), now), Turn::Fetch);
        // A fetch that failed leaves the place to the next.
        waves.ended(&blob(), node(2), false);
        assert_eq!(waves.turn(&blob(), node(3), now), Turn::Fetch);
    }

    #[test]
    fn nobody_is_sent_to_itself() {
        let (mut waves, now) = (Waves::default(), Instant::now());
        waves.turn(&blob(), node(1), now);
        waves.ended(&blob(), node(1), true);
        // The node lost the blob, and no other has it.
        assert_eq!(waves.turn(&blob(), node(1), now), Turn::Fetch);
    }

    #[test]
    fn blobs_are_forgotten() {
        let (mut waves, now) = (Waves::default(), Instant::now());
        waves.turn(&blob(), node(1), now);
        waves.turn(&Digest::of_sha256([2; 32]), node(1), now + MEMORY);
        assert_eq!(waves.blobs.len(), 1);
        waves.ended(&blob(), node(1), true);
    }
}
