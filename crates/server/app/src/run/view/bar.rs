//! A pull in a row: a bar and its numbers.

use std::time::Duration;

use airside_model::Bytes;
use airside_pulls::{PullProgress, PullStage, rate};

/// Characters of a bar.
const WIDTH: usize = 20;

/// Returns a row's words about a pull that began this long ago.
pub(super) fn words(progress: &PullProgress, elapsed: Duration) -> String {
    if progress.layers == 0 {
        return "asking the registry".to_owned();
    }
    let filled = ((progress.fraction() * WIDTH as f64) as usize).min(WIDTH);
    let bar = format!("[{}{}]", "#".repeat(filled), ".".repeat(WIDTH - filled));
    let (done, all) = (Bytes(progress.bytes_done), Bytes(progress.bytes));
    let layers = format!("{} of {} layers", progress.layers_done, progress.layers);
    match progress.stage {
        PullStage::Fetching => {
            let rate = rate(progress.bytes_fetched(), elapsed);
            format!("{bar} {done} of {all}, {layers}, {rate}")
        }
        PullStage::Unpacking => format!("{bar} unpacking {done} of {all}, {layers}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_as_bytes_come() {
        let progress = |stage, bytes_done: u64| PullProgress {
            stage,
            layers: 4,
            bytes: 400 << 20,
            layers_done: 1,
            bytes_done: bytes_done << 20,
            ..PullProgress::default()
        };
        let two = Duration::from_secs(2);
        for (stage, done, expected) in [
            (
                PullStage::Fetching,
                0,
                "[....................] 0 bytes of 400.0 MiB, 1 of 4 layers, 0 bytes/s",
            ),
            (
                PullStage::Fetching,
                100,
                "[#####...............] 100.0 MiB of 400.0 MiB, 1 of 4 layers, 50.0 MiB/s",
            ),
            (
                PullStage::Unpacking,
                400,
                "[####################] unpacking 400.0 MiB of 400.0 MiB, 1 of 4 layers",
            ),
        ] {
            assert_eq!(words(&progress(stage, done), two), expected);
        }
        let begun = words(&PullProgress::default(), two);
        assert_eq!(begun, "asking the registry");
    }
}
