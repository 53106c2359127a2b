//! Limits on the output of a step and of its build.

use airside_logs::LogWriter;
use airside_model::Bytes;

/// The most that is kept of what is printed; the rest is dropped, and the step goes on.
#[derive(Clone, Copy, Debug)]
pub struct OutputBounds {
    /// The setting `max-step-output`.
    pub step: u64,
    /// The setting `max-build-output`; the log counts with all that stands in it.
    pub build: u64,
}

impl Default for OutputBounds {
    fn default() -> Self {
        Self {
            step: 1 << 30,
            build: 4 << 30,
        }
    }
}

/// A quota of the team, as a size that the build's log may grow to, and the words for when it is
/// met.
#[derive(Clone, Debug)]
pub(crate) struct LogQuota {
    pub(crate) build: u64,
    pub(crate) words: String,
}

/// Returns how much of `fresh` output, which begins at `position` of the step's, may be kept. The
/// error is that the bound was met, with the number of bytes that still have room and the line that
/// says so.
pub(crate) fn room(
    bounds: &OutputBounds,
    quota: Option<&LogQuota>,
    log: &LogWriter,
    position: u64,
    fresh: usize,
) -> Result<(), (usize, String)> {
    let of_step = bounds.step.saturating_sub(position);
    let of_build = bounds.build.saturating_sub(log.bytes());
    let of_team = quota.map_or(u64::MAX, |quota| quota.build.saturating_sub(log.bytes()));
    let least = of_step.min(of_build).min(of_team);
    if fresh as u64 <= least {
        return Ok(());
    }
    let why = match (quota, least) {
        (Some(quota), least) if least == of_team => quota.words.clone(),
        (_, least) if least == of_step => format!(
            "a step may print {} (--max-step-output)",
            Bytes(bounds.step)
        ),
        _ => format!(
            "the log of a build may have {} (--max-build-output)",
            Bytes(bounds.build)
        ),
    };
    Err((
        least as usize,
        format!("\n{why}: what this step prints from here on is dropped\n"),
    ))
}
