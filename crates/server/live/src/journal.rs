//! The latest patches, for readers whose connection broke: pure.

use std::collections::VecDeque;

use crate::{LiveTopic, patch::PatchBody};

/// Number of patches that are kept.
pub(crate) const MAX_PATCHES: usize = 4096;

/// Memory that they may take.
const MAX_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(crate) struct Journal {
    patches: VecDeque<Kept>,
    bytes: usize,
    /// Sequence of the last patch that is not kept any more.
    forgotten: u64,
}

struct Kept {
    sequence: u64,
    topic: LiveTopic,
    body: PatchBody,
    weight: usize,
}

impl Journal {
    pub(crate) fn push(&mut self, sequence: u64, topic: LiveTopic, body: PatchBody) {
        let weight = size_of::<Kept>() + body.weight();
        self.bytes += weight;
        self.patches.push_back(Kept {
            sequence,
            topic,
            body,
            weight,
        });
        while self.patches.len() > MAX_PATCHES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.patches.pop_front() else {
                break;
            };
            self.bytes -= oldest.weight;
            self.forgotten = oldest.sequence;
        }
    }

    /// Returns the patches of a topic after a sequence, oldest first. `None`: they are not all
    /// there any more, or the topic has to be seen whole.
    pub(crate) fn since(
        &self,
        topic: LiveTopic,
        sequence: u64,
    ) -> Option<impl Iterator<Item = (u64, &PatchBody)>> {
        if sequence < self.forgotten {
            return None;
        }
        let from = self
            .patches
            .partition_point(|kept| kept.sequence <= sequence);
        let after = move || {
            self.patches
                .range(from..)
                .filter(move |kept| kept.topic == topic)
        };
        let is_reset = after().any(|kept| matches!(kept.body, PatchBody::Reset));
        (!is_reset).then(|| after().map(|kept| (kept.sequence, &kept.body)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::*;
    use crate::part::LivePart;

    fn part() -> PatchBody {
        PatchBody::Parts([LivePart::Top].into())
    }

    fn since(journal: &Journal, topic: LiveTopic, sequence: u64) -> Option<Vec<u64>> {
        let patches = journal.since(topic, sequence)?;
        Some(patches.map(|(sequence, _)| sequence).collect())
    }

    #[test]
    fn a_reader_gets_the_patches_of_its_topic_that_it_missed() {
        let mut journal = Journal::default();
        for sequence in 1..=6 {
            let topic = [LiveTopic::Workers, LiveTopic::Builds][sequence % 2];
            journal.push(sequence as u64, topic, part());
        }
        for (sequence, expected) in [
            (0, vec![2, 4, 6]),
            (2, vec![4, 6]),
            (5, vec![6]),
            (6, vec![]),
        ] {
            assert_eq!(
                since(&journal, LiveTopic::Workers, sequence),
                Some(expected)
            );
        }
        assert_eq!(since(&journal, LiveTopic::Dashboard, 0), Some(vec![]));
        journal.push(7, LiveTopic::Workers, PatchBody::Reset);
        journal.push(8, LiveTopic::Workers, part());
        assert_eq!(since(&journal, LiveTopic::Workers, 6), None);
        assert_eq!(since(&journal, LiveTopic::Workers, 7), Some(vec![8]));
        assert_eq!(since(&journal, LiveTopic::Builds, 5), Some(vec![]));
    }

    #[test]
    fn the_journal_is_bounded_in_number_and_bytes() {
        let mut journal = Journal::default();
        for sequence in 1..=MAX_PATCHES as u64 + 10 {
            journal.push(sequence, LiveTopic::Workers, part());
        }
        assert_eq!(since(&journal, LiveTopic::Workers, 9), None);
        let kept = since(&journal, LiveTopic::Workers, 10).unwrap();
        assert_eq!(kept.len(), MAX_PATCHES);

        let large: Map<_, _> = (0..10_000).map(|id| (id.to_string(), json!("1"))).collect();
        let large = Arc::new(large);
        for sequence in 5000..5100 {
            let body = PatchBody::Fields(large.clone());
            journal.push(sequence, LiveTopic::Workers, body);
        }
        assert!(journal.bytes <= MAX_BYTES && journal.patches.len() < 100);
    }
}
