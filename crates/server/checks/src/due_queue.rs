//! Keys ordered by the moment at which they are due. Pure: the caller passes moments in.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    hash::Hash,
};

/// A queue that holds each key at most once, the earliest first. Changing a key's moment leaves its
/// old entry behind, to be skipped; there are never more of these than keys.
#[derive(Debug)]
pub(crate) struct DueQueue<K, M> {
    heap: BinaryHeap<Reverse<(M, K)>>,
    at: HashMap<K, M>,
}

impl<K: Copy + Ord + Hash, M: Copy + Ord> DueQueue<K, M> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            at: HashMap::new(),
        }
    }

    /// Makes the key due at this moment and no other.
    pub(crate) fn set(&mut self, key: K, moment: M) {
        if self.at.insert(key, moment) != Some(moment) {
            self.heap.push(Reverse((moment, key)));
        }
        if self.heap.len() > 2 * self.at.len() + 16 {
            self.heap = self
                .at
                .iter()
                .map(|(key, at)| Reverse((*at, *key)))
                .collect();
        }
    }

    pub(crate) fn remove(&mut self, key: K) {
        self.at.remove(&key);
    }

    /// Returns when the next key is due.
    pub(crate) fn next(&mut self) -> Option<M> {
        while let Some(Reverse((moment, key))) = self.heap.peek() {
            if self.at.get(key) == Some(moment) {
                return Some(*moment);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes out a key that is due.
    pub(crate) fn pop(&mut self, now: M) -> Option<K> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, key)) = self.heap.pop()?;
        self.at.remove(&key);
        Some(key)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_when_they_are_due_and_once() {
        let mut queue = DueQueue::new();
        for (key, at) in [('a', 5), ('b', 3), ('c', 9)] {
            queue.set(key, at);
        }
        assert_eq!(queue.next(), Some(3));
        assert_eq!(queue.pop(2), None);
        assert_eq!(queue.pop(5), Some('b'));
        assert_eq!(queue.pop(5), Some('a'));
        assert_eq!(queue.pop(5), None);
        queue.remove('c');
        assert_eq!((queue.next(), queue.pop(10)), (None, None));
    }

    #[test]
    fn the_last_word_counts() {
        let mut queue = DueQueue::new();
        queue.set('a', 5);
        queue.set('a', 8);
        assert_eq!(queue.pop(7), None);
        queue.set('a', 2);
        assert_eq!(queue.pop(7), Some('a'));
        assert_eq!(queue.pop(100), None);
    }

    #[test]
    fn moving_keys_for_ever_takes_no_more_room() {
        let mut queue = DueQueue::new();
        for at in 0..100_000 {
            queue.set(at % 10, at);
        }
        assert!(queue.len() < 50, "{}", queue.len());
        assert_eq!(queue.next(), Some(99_990));
    }
}
