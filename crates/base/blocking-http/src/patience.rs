//! Time that a server may take.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeouts {
    /// Time for a connection to stand.
    pub connect: Duration,
    /// Longest time without a byte either way.
    pub silence: Duration,
    /// Time before an answer's speed counts.
    pub grace: Duration,
    /// Bytes a second that an answer must have after that, on average.
    pub speed: u64,
    /// Number of tries, the first included, if the server has trouble.
    pub tries: u32,
    /// Pause between the first two tries; each further one is twice as long.
    pub pause: Duration,
    /// The longest pause that a server may ask for.
    pub longest_pause: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(60),
            grace: Duration::from_secs(60),
            speed: 1 << 10,
            tries: 4,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}
