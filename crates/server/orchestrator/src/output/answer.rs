//! The answer of a resource type on its standard output. It is only here and in the shim, so
//! nothing from its first byte on is acknowledged until the step ends.

use airside_model::Bytes;

/// The largest answer of a resource type.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// The most that is printed from the first byte of the answer on; a shim has room for more.
const MAX_SINCE: u64 = 128 * 1024 * 1024;

#[derive(Default)]
pub(super) struct ResourceAnswer {
    bytes: Vec<u8>,
    began: Option<u64>,
    pub(super) too_large: bool,
}

impl ResourceAnswer {
    /// The answer of a step that was followed before.
    pub(super) fn resumed(too_large: bool) -> Self {
        Self {
            too_large,
            ..Self::default()
        }
    }

    /// Returns true if output before it may be forgotten.
    pub(super) fn has_begun(&self) -> bool {
        self.began.is_some() && !self.too_large
    }

    /// Takes what stands at `offset`.
    pub(super) fn take(&mut self, offset: u64, data: &[u8]) {
        self.began.get_or_insert(offset);
        if self.too_large || self.bytes.len() + data.len() > MAX_ANSWER {
            self.give_up();
        } else {
            self.bytes.extend_from_slice(data);
        }
    }

    /// Gives the answer up if more was printed until `end` than a shim can keep.
    pub(super) fn printed_until(&mut self, end: u64) {
        let began = self.began.unwrap_or(end);
        if end - began > MAX_SINCE {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.too_large = true;
        self.bytes = Vec::new();
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The words for an answer that was given up.
    pub(super) fn words(&self) -> Option<String> {
        self.too_large.then(|| {
            format!(
                "the resource's answer is larger than {}, or more than {} were printed after it began",
                Bytes(MAX_ANSWER as u64),
                Bytes(MAX_SINCE)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_answers_are_given_up_with_words() {
        let mut answer = ResourceAnswer::default();
        assert!(!answer.has_begun());
        answer.printed_until(1 << 40);
        answer.take(1 << 40, b"{}");
        assert!(answer.has_begun() && answer.words().is_none());
        answer.take((1 << 40) + 2, &vec![b' '; MAX_ANSWER]);
        assert!(!answer.has_begun(), "what it printed may be forgotten");
        assert!(
            answer
                .words()
                .is_some_and(|words| words.contains("32.0 MiB"))
        );
        assert_eq!(answer.bytes(), b"");

        let mut answer = ResourceAnswer::default();
        answer.take(0, b"{}");
        answer.printed_until(MAX_SINCE);
        assert!(answer.words().is_none());
        answer.printed_until(MAX_SINCE + 1);
        assert!(answer.words().is_some());
        assert!(ResourceAnswer::resumed(true).words().is_some());
    }
}
