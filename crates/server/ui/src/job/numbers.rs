//! Numbers of a job's last builds.

use std::time::Duration;

use crate::drawn::whole_text;

/// A finished build, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSample {
    /// Time from the start to the end; none if the build never started.
    pub took: Option<Duration>,
    /// Time from the build's creation to its start.
    pub waited: Option<Duration>,
    pub succeeded: bool,
}

/// The middle and the ends of the last builds' durations, and the share that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobNumbers {
    /// Number of builds that were measured.
    pub count: usize,
    pub median: Option<Duration>,
    /// A duration that at most one build in twenty exceeds.
    pub high: Option<Duration>,
    pub median_wait: Option<Duration>,
    pub succeeded: usize,
}

impl JobNumbers {
    /// Measures builds.
    pub fn of(samples: &[JobSample]) -> Self {
        let took = sorted(samples.iter().filter_map(|sample| sample.took));
        let waited = sorted(samples.iter().filter_map(|sample| sample.waited));
        Self {
            count: samples.len(),
            median: rank(&took, 50),
            high: rank(&took, 95),
            median_wait: rank(&waited, 50),
            succeeded: samples.iter().filter(|sample| sample.succeeded).count(),
        }
    }

    /// Returns the share of builds that succeeded.
    pub(crate) fn share(&self) -> String {
        match self.count {
            0 => "–".to_owned(),
            count => format!("{} %", self.succeeded * 100 / count),
        }
    }

    /// Returns a duration as text, or a dash.
    pub(crate) fn text(&self, duration: &Option<Duration>) -> String {
        duration.map_or_else(|| "–".to_owned(), whole_text)
    }
}

fn sorted(durations: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut durations: Vec<_> = durations.collect();
    durations.sort_unstable();
    durations
}

/// Returns the value that this percentage does not exceed, by the nearest rank.
fn rank(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(took: u64, succeeded: bool) -> JobSample {
        JobSample {
            took: Some(Duration::from_secs(took)),
            waited: Some(Duration::from_secs(3)),
            succeeded,
        }
    }

    #[test]
    fn the_middle_and_the_end_are_by_rank() {
        let samples: Vec<_> = (1..=20).map(|took| sample(took, took % 2 == 0)).collect();
        let numbers = JobNumbers::of(&samples);
        assert_eq!(numbers.median, Some(Duration::from_secs(10)));
        assert_eq!(numbers.high, Some(Duration::from_secs(19)));
        assert_eq!((numbers.succeeded, numbers.share().as_str()), (10, "50 %"));
        assert_eq!(numbers.text(&numbers.median_wait), "3 s");
    }

    #[test]
    fn no_builds_have_no_numbers() {
        let numbers = JobNumbers::of(&[]);
        assert_eq!(numbers, JobNumbers::default());
        assert_eq!(
            (numbers.share(), numbers.text(&None)),
            ("–".into(), "–".into())
        );
        let one = JobNumbers::of(&[sample(7, true)]);
        assert_eq!(
            (one.median, one.high),
            (one.high, Some(Duration::from_secs(7)))
        );
    }
}
