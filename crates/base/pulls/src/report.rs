//! Lines about a pull for a build's log: few for a long pull, one for a short one.

use std::time::Duration;

use airside_model::Bytes;

use crate::{PullProgress, PullStage};

/// Time within which a pull ends without a line but its last.
const QUIET: Duration = Duration::from_secs(1);
/// Shortest time between two lines. It grows with the pull.
const INTERVAL: Duration = Duration::from_secs(5);
/// Largest number of lines about one pull, the first and the last not counted.
pub const MAX_LINES: u32 = 100;

/// The lines about one pull.
#[derive(Debug)]
pub struct PullReport {
    name: String,
    announced: bool,
    /// No line before this time.
    next: Duration,
    lines: u32,
    last: Option<PullProgress>,
    /// Numbers of the last report about fetching.
    fetching: PullProgress,
    /// Time from the start at which everything was fetched.
    fetched: Option<Duration>,
}

impl PullReport {
    /// `name` is the image's name as people know it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            announced: false,
            next: QUIET,
            lines: 0,
            last: None,
            fetching: PullProgress::default(),
            fetched: None,
        }
    }

    /// Takes in the progress of a pull that began this long ago, and returns the line that is due.
    pub fn take(&mut self, elapsed: Duration, progress: PullProgress) -> Option<String> {
        match progress.stage {
            PullStage::Fetching => self.fetching = progress,
            PullStage::Unpacking => self.fetched = self.fetched.or(Some(elapsed)),
        }
        self.last = Some(progress);
        if elapsed < self.next || self.lines >= MAX_LINES {
            return None;
        }
        // A registry that takes its time has not sent the manifest yet.
        if progress.layers == 0 && (self.announced || elapsed < INTERVAL) {
            return None;
        }
        self.next = elapsed + INTERVAL.max(elapsed / 10);
        if !self.announced {
            self.announced = true;
            return Some(match progress.layers {
                0 => format!("pulling {}", self.name),
                _ => format!("pulling {}: {}", self.name, size(&progress)),
            });
        }
        self.lines += 1;
        Some(self.line(elapsed, &progress))
    }

    /// Returns the last line of a pull that took this long; none if nothing was pulled.
    pub fn end(self, elapsed: Duration) -> Option<String> {
        let last = self.last.filter(|last| last.layers > 0)?;
        let fetched = self.fetched.unwrap_or(elapsed);
        let unpacked = match elapsed.saturating_sub(fetched) {
            Duration::ZERO => String::new(),
            took => format!(", unpacked in {}", seconds(took)),
        };
        let (name, size) = (&self.name, size(&last));
        let came = last.bytes.saturating_sub(self.fetching.bytes_present);
        let (took, rate) = (seconds(fetched), rate(came, fetched));
        Some(match present(&self.fetching) {
            None => format!("pulled {name}: {size} in {took} ({rate}){unpacked}"),
            Some(present) if came == 0 => format!("pulled {name}: {size}, {present}{unpacked}"),
            Some(present) => format!(
                "pulled {name}: {size}, {present}, {} in {took} ({rate}){unpacked}",
                Bytes(came)
            ),
        })
    }

    fn line(&self, elapsed: Duration, progress: &PullProgress) -> String {
        let (name, done, bytes) = (
            &self.name,
            Bytes(progress.bytes_done),
            Bytes(progress.bytes),
        );
        let layers = format!("{} of {} layers", progress.layers_done, progress.layers);
        match progress.stage {
            PullStage::Fetching => {
                let rate = rate(progress.bytes_fetched(), elapsed);
                format!("{name}: fetched {done} of {bytes}, {layers}, {rate}")
            }
            PullStage::Unpacking => format!("{name}: unpacked {done} of {bytes}, {layers}"),
        }
    }
}

fn size(progress: &PullProgress) -> String {
    format!("{}, {}", layers(progress.layers), Bytes(progress.bytes))
}

/// Returns the layers that need not be fetched, in words; none if all must be.
fn present(progress: &PullProgress) -> Option<String> {
    match progress.layers_present {
        0 => None,
        all if all == progress.layers => Some("all here already".to_owned()),
        some => Some(format!("{} here already", layers(some))),
    }
}

fn layers(count: u64) -> String {
    match count {
        1 => "1 layer".to_owned(),
        many => format!("{many} layers"),
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1}s", time.as_secs_f64()),
        long => format!("{}m{:02}s", long / 60, long % 60),
    }
}

/// Returns the rate of a number of bytes in a time, as people read it.
pub fn rate(bytes: u64, time: Duration) -> String {
    // Less than that says nothing about a rate.
    let time = time.as_secs_f64().max(0.001);
    format!("{}/s", Bytes((bytes as f64 / time) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn fetching(layers_done: u64, done: u64) -> PullProgress {
        PullProgress {
            stage: PullStage::Fetching,
            layers: 5,
            bytes: 312 * MIB,
            layers_done,
            bytes_done: done * MIB,
            ..PullProgress::default()
        }
    }

    #[test]
    fn layers_that_are_here_are_told_and_no_part_of_the_rate() {
        for (layers_present, present, expected) in [
            (
                0,
                0,
                "pulled app:1: 5 layers, 312.0 MiB in 2.0s (156.0 MiB/s)",
            ),
            (
                1,
                12,
                "pulled app:1: 5 layers, 312.0 MiB, 1 layer here already, 300.0 MiB in 2.0s (150.0 MiB/s)",
            ),
            (
                5,
                312,
                "pulled app:1: 5 layers, 312.0 MiB, all here already",
            ),
        ] {
            let mut report = PullReport::new("app:1");
            let progress = PullProgress {
                layers_present,
                bytes_present: present * MIB,
                ..fetching(5, 312)
            };
            assert_eq!(report.take(at(0.9), progress), None);
            assert_eq!(report.end(at(2.0)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_short_pull_has_one_line() {
        let mut report = PullReport::new("app:1");
        assert_eq!(report.take(at(0.1), fetching(0, 0)), None);
        assert_eq!(report.take(at(0.9), fetching(5, 312)), None);
        let line = report.end(at(0.5)).unwrap();
        assert_eq!(
            line,
            "pulled app:1: 5 layers, 312.0 MiB in 0.5s (624.0 MiB/s)"
        );
    }

    #[test]
    fn a_long_pull_is_told_now_and_then() {
        let mut report = PullReport::new("app:1");
        let mut lines = Vec::new();
        for half in 0..=40_u64 {
            let time = at(half as f64 / 2.0);
            lines.extend(report.take(time, fetching(half / 10, half * 6)));
        }
        let unpacking = PullProgress {
            stage: PullStage::Unpacking,
            ..fetching(1, 70)
        };
        lines.extend(report.take(at(22.0), unpacking));
        lines.extend(report.end(at(31.5)));
        assert_eq!(
            lines,
            [
                "pulling app:1: 5 layers, 312.0 MiB",
                "app:1: fetched 72.0 MiB of 312.0 MiB, 1 of 5 layers, 12.0 MiB/s",
                "app:1: fetched 132.0 MiB of 312.0 MiB, 2 of 5 layers, 12.0 MiB/s",
                "app:1: fetched 192.0 MiB of 312.0 MiB, 3 of 5 layers, 12.0 MiB/s",
                "app:1: unpacked 70.0 MiB of 312.0 MiB, 1 of 5 layers",
                "pulled app:1: 5 layers, 312.0 MiB in 22.0s (14.1 MiB/s), unpacked in 9.5s",
            ]
        );
    }

    #[test]
    fn a_registry_that_does_not_answer_is_told_once() {
        let mut report = PullReport::new("app:1");
        let mut take = |seconds: f64| report.take(at(seconds), PullProgress::default());
        assert_eq!(take(2.0), None);
        assert_eq!(take(5.0).as_deref(), Some("pulling app:1"));
        assert_eq!(take(60.0), None);
        assert_eq!(report.end(at(61.0)), None);
    }

    #[test]
    fn hostile_pulls_end_the_lines() {
        let mut report = PullReport::new("app:1");
        let week: u32 = 7 * 24 * 3600 * 4;
        let lines = (0..week).filter_map(|quarter| {
            report.take(
                at(f64::from(quarter) / 4.0),
                fetching(0, u64::from(quarter)).bounded(),
            )
        });
        assert!(lines.count() <= MAX_LINES as usize + 1);
    }
}
