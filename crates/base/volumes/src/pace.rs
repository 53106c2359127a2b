//! The pace of removals: other work goes first while there is any, and room on the disk.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Entries that are removed between two looks at the other work. Few, because on a disk that
/// discards on unlink one of them takes milliseconds, and nothing else reaches the disk meanwhile.
const BATCH: u32 = 8;
/// A pause beside other work, as a multiple of the time that the batch before it took: a removal
/// keeps a fifth of the disk.
const PAUSE_FACTOR: u32 = 4;
/// The longest pause, so that one very slow batch does not stop a removal. It is above what a batch
/// of slow unlinks asks for: a pause that is cut short leaves the removal more than its fifth.
const MAX_PAUSE: Duration = Duration::from_secs(1);

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
pub(crate) struct Pace<C: PaceClock = MachineClock> {
    clock: C,
    entries: u32,
    batch_began: Instant,
}

impl Pace {
    pub(crate) fn begin() -> Self {
        Self::with_clock(MachineClock)
    }
}

impl<C: PaceClock> Pace<C> {
    fn with_clock(clock: C) -> Self {
        Self {
            entries: 0,
            batch_began: clock.now(),
            clock,
        }
    }

    /// Notes a removed entry; at the end of a batch it pauses if there is other work.
    pub(crate) fn note_removed(&mut self, other_work: impl FnOnce() -> OtherWork) {
        self.entries += 1;
        if self.entries < BATCH {
            return;
        }
        let busy = self.clock.now().saturating_duration_since(self.batch_began);
        if let Some(pause) = pause_after(busy, other_work()) {
            self.clock.sleep(pause);
        }
        self.entries = 0;
        self.batch_began = self.clock.now();
    }
}

/// The time by which a removal is paced.
pub(crate) trait PaceClock {
    fn now(&self) -> Instant;
    fn sleep(&self, time: Duration);
}

/// The machine's own clock.
pub(crate) struct MachineClock;

impl PaceClock for MachineClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }
}

/// Returns the pause after a batch that took `busy`.
fn pause_after(busy: Duration, other: OtherWork) -> Option<Duration> {
    (other.receiving && !other.room_is_short).then(|| (busy * PAUSE_FACTOR).min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock that moves only when a test or a pause moves it.
    struct StoppedClock<'a> {
        now: &'a Cell<Instant>,
        slept: &'a Cell<Duration>,
    }

    impl PaceClock for StoppedClock<'_> {
        fn now(&self) -> Instant {
            self.now.get()
        }

        fn sleep(&self, time: Duration) {
            self.now.set(self.now.get() + time);
            self.slept.set(self.slept.get() + time);
        }
    }

    #[test]
    fn a_removal_keeps_at_most_a_fifth_of_the_disk_beside_other_work() {
        const ENTRIES: u32 = BATCH * 100;
        for unlink in [100, 3_000, 30_000].map(Duration::from_micros) {
            let (now, slept) = (Cell::new(Instant::now()), Cell::default());
            let clock = StoppedClock {
                now: &now,
                slept: &slept,
            };
            let mut pace = Pace::with_clock(clock);
            for _ in 0..ENTRIES {
                now.set(now.get() + unlink);
                pace.note_removed(|| OtherWork {
                    receiving: true,
                    room_is_short: false,
                });
            }
            let busy = unlink * ENTRIES;
            assert_eq!(slept.get(), busy * PAUSE_FACTOR, "{unlink:?}");
        }
    }

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
