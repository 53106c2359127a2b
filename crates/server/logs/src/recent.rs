//! The end of a log that is being followed, in memory: followers that keep up need no disk.
//!
//! Only durable entries get here, and nothing depends on it: a follower that does not find an entry
//! here reads the file.

use std::{collections::VecDeque, ops::Range};

use bytes::Bytes;

use crate::{LogEntry, entry::Envelope};

/// The most that is kept of one log.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Entries that were written together.
pub(crate) struct Batch {
    pub(crate) first: u64,
    /// The bytes of the entries, as in the segment.
    pub(crate) bytes: Bytes,
    /// Range of each entry's envelope in `bytes`.
    pub(crate) envelopes: Vec<Range<usize>>,
}

impl Batch {
    fn end(&self) -> u64 {
        self.first + self.envelopes.len() as u64
    }
}

#[derive(Default)]
pub(crate) struct Recent {
    /// Epoch of the writer that these entries are from. A writer of an earlier epoch is ignored.
    epoch: i64,
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl Recent {
    /// A writer of this epoch begins.
    pub(crate) fn begin(&mut self, epoch: i64) {
        *self = Self {
            epoch: epoch.max(self.epoch),
            ..Self::default()
        };
    }

    /// Takes what follows the entries that are here, or else stands by itself.
    pub(crate) fn push(&mut self, epoch: i64, batch: Batch) {
        if epoch != self.epoch {
            return;
        }
        if self
            .batches
            .back()
            .is_some_and(|last| last.end() != batch.first)
        {
            self.clear();
        }
        self.bytes += batch.bytes.len();
        self.batches.push_back(batch);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= oldest.bytes.len();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.batches.clear();
        self.bytes = 0;
    }

    /// Entries from `next` on, until there are `enough` bytes of them; none if `next` is not here.
    pub(crate) fn entries(&self, next: u64, enough: usize) -> Vec<LogEntry> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let known = self
            .batches
            .front()
            .is_some_and(|oldest| oldest.first <= next);
        if !known {
            return entries;
        }
        let start = self.batches.partition_point(|batch| batch.end() <= next);
        for batch in self.batches.range(start..) {
            let skip = next.saturating_sub(batch.first) as usize;
            for (id, range) in (batch.first..).zip(&batch.envelopes).skip(skip) {
                if bytes >= enough {
                    return entries;
                }
                bytes += range.len();
                entries.push(LogEntry {
                    id,
                    envelope: Envelope::new(batch.bytes.slice(range.clone())),
                });
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of one byte each, which tells their id.
    fn batch(ids: Range<u64>) -> Batch {
        let bytes: Vec<u8> = ids.clone().map(|id| b'a' + id as u8).collect();
        Batch {
            first: ids.start,
            envelopes: (0..bytes.len()).map(|at| at..at + 1).collect(),
            bytes: bytes.into(),
        }
    }

    fn seen(recent: &Recent, next: u64, enough: usize) -> String {
        let entries = recent.entries(next, enough);
        for (entry, id) in entries.iter().zip(next..) {
            assert_eq!(entry.id, id);
        }
        entries
            .iter()
            .map(|entry| entry.envelope.as_str())
            .collect()
    }

    #[test]
    fn entries_are_found_from_where_a_follower_is() {
        let mut recent = Recent::default();
        recent.begin(1);
        recent.push(1, batch(2..4));
        recent.push(1, batch(4..7));
        for (next, enough, expected) in [
            (0, 100, ""),
            (1, 100, ""),
            (2, 100, "cdefg"),
            (3, 100, "defg"),
            (3, 2, "de"),
            (4, 100, "efg"),
            (6, 100, "g"),
            (7, 100, ""),
            (9, 100, ""),
        ] {
            assert_eq!(seen(&recent, next, enough), expected, "{next} {enough}");
        }
    }

    #[test]
    fn a_gap_and_another_epoch_begin_anew() {
        let mut recent = Recent::default();
        recent.begin(1);
        recent.push(1, batch(0..2));
        recent.push(1, batch(5..6));
        assert_eq!(seen(&recent, 0, 9), "");
        assert_eq!(seen(&recent, 5, 9), "f");
        recent.begin(2);
        assert_eq!(seen(&recent, 5, 9), "");
        recent.push(1, batch(6..7));
        assert_eq!(seen(&recent, 6, 9), "", "from a writer that was replaced");
        recent.push(2, batch(5..7));
        assert_eq!(seen(&recent, 5, 9), "fg");
    }

    #[test]
    fn no_more_is_kept_than_was_agreed() {
        let mut recent = Recent::default();
        recent.begin(1);
        for first in 0..10 {
            let bytes = Bytes::from(vec![b'x'; MOST_BYTES / 3]);
            let envelopes = std::iter::once(0..bytes.len()).collect();
            recent.push(
                1,
                Batch {
                    first,
                    bytes,
                    envelopes,
                },
            );
            assert!(recent.bytes <= MOST_BYTES);
        }
        assert!(recent.entries(6, 1).is_empty());
        assert_eq!(recent.entries(7, usize::MAX).len(), 3);
    }
}
