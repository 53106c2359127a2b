//! The pace of removals: other work goes first while there is any, and room on the disk.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Entries that are removed between two looks at the other work.
const BATCH: u32 = 64;
/// A pause beside other work, as a multiple of the time that the batch before it took.
const PAUSE_FACTOR: u32 = 4;
/// The longest pause, so that a slow disk does not stop a removal.
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// Other work at the moment of a look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OtherWork {
    /// A tree is being received or unpacked.
    pub(crate) receiving: bool,
    /// The disk is so full that room comes first.
    pub(crate) room_is_short: bool,
}

/// Counts removed entries. Pauses are bounded by the time that the removal itself takes, so it
/// always comes to an end.
pub(crate) struct Pace {
    entries: u32,
    batch_began: Instant,
}

impl Pace {
    pub(crate) fn begin() -> Self {
        Self {
            entries: 0,
            batch_began: Instant::now(),
        }
    }

    /// Notes a removed entry; at the end of a batch it pauses if there is other work.
    pub(crate) fn note_removed(&mut self, other_work: impl FnOnce() -> OtherWork) {
        self.entries += 1;
        if self.entries < BATCH {
            return;
        }
        if let Some(pause) = pause_after(self.batch_began.elapsed(), other_work()) {
            thread::sleep(pause);
        }
        *self = Self::begin();
    }
}

/// Returns the pause after a batch that took `busy`.
fn pause_after(busy: Duration, other: OtherWork) -> Option<Duration> {
    (other.receiving && !other.room_is_short).then(|| (busy * PAUSE_FACTOR).min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_gives_way_to_what_is_received_unless_room_is_short() {
        let ms = Duration::from_millis;
        for (busy, receiving, room_is_short, expected) in [
            (ms(10), false, false, None),
            (ms(10), true, false, Some(ms(40))),
            (ms(10), true, true, None),
            (ms(10), false, true, None),
            (ms(0), true, false, Some(ms(0))),
            (ms(900), true, false, Some(MAX_PAUSE)),
        ] {
            let other = OtherWork {
                receiving,
                room_is_short,
            };
            assert_eq!(pause_after(busy, other), expected, "{busy:?} {other:?}");
        }
    }

    #[test]
    fn other_work_is_looked_at_once_in_a_batch() {
        let (mut pace, mut looks) = (Pace::begin(), 0);
        for _ in 0..BATCH * 3 + 1 {
            pace.note_removed(|| {
                looks += 1;
                OtherWork::default()
            });
        }
        assert_eq!(looks, 3);
    }
}
