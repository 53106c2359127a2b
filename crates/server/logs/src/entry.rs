//! Entries that a follower gets.

use bytes::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub id: u64,
    pub envelope: Envelope,
}

/// An event as compact JSON, ready for an event stream's `data:`. Clones share the bytes, as do
/// those who follow the same log: what was written to the disk is what they get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope(Bytes);

impl Envelope {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the event as text, for callers that read it themselves. Costs a look at every byte.
    pub fn as_str(&self) -> &str {
        // Only text is ever written, and what is damaged on the disk does not become an entry.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<String> for Envelope {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
