//! The bytes that wait for one reader: bounded, so that one that is slow costs nothing. Pure.

use std::collections::VecDeque;

use bytes::Bytes;

/// The most that waits for a reader.
pub(crate) const MAX_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Bytes>,
    bytes: usize,
}

/// There was no room: all that waited is dropped, and the reader has to see its topics whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

impl Outbox {
    pub(crate) fn push(&mut self, event: Bytes) -> Result<(), Overflow> {
        if self.bytes + event.len() > MAX_BYTES {
            self.waiting.clear();
            self.bytes = 0;
            return Err(Overflow);
        }
        self.bytes += event.len();
        self.waiting.push_back(event);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let event = self.waiting.pop_front()?;
        self.bytes -= event.len();
        Some(event)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_outbox_is_emptied() {
        let mut outbox = Outbox::default();
        let event = Bytes::from(vec![0; MAX_BYTES / 4]);
        for _ in 0..4 {
            assert_eq!(outbox.push(event.clone()), Ok(()));
        }
        assert_eq!(outbox.pop().map(|event| event.len()), Some(MAX_BYTES / 4));
        assert_eq!(outbox.push(event.clone()), Ok(()), "room was made");
        assert_eq!(outbox.push(Bytes::from_static(b"x")), Err(Overflow));
        assert!(outbox.is_empty() && outbox.pop().is_none());
        assert_eq!(outbox.push(event), Ok(()));
    }
}
