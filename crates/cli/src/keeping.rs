//! Options about people in containers: how long containers stay for them, and how long they may idle.

use std::time::Duration;

use airside_orchestrator::Keeping;

#[derive(clap::Args)]
pub(crate) struct KeepingOptions {
    /// How long containers of a job's latest build stay for `fly intercept` if it did not succeed [default:
    /// 120h here, 1h in clusters]
    #[arg(long, value_name = "TIME", env = "AIRSIDE_KEEP_FAILED", value_parser = duration)]
    keep_failed: Option<Duration>,

    /// The same for builds without a job (`fly execute`) [default: 5m]
    #[arg(long, value_name = "TIME", env = "AIRSIDE_KEEP_ONE_OFF", value_parser = duration)]
    keep_one_off: Option<Duration>,

    /// At most so many containers stay on one worker after their step; the oldest go first
    #[arg(long, value_name = "N", env = "AIRSIDE_KEEP_MOST", default_value_t = Keeping::default().most)]
    keep_most: usize,

    /// End a `fly intercept` in which nobody has typed for so long [default: never]
    #[arg(long, value_name = "TIME", env = "AIRSIDE_INTERCEPT_IDLE_TIMEOUT", value_parser = duration)]
    intercept_idle_timeout: Option<Duration>,
}

impl KeepingOptions {
    pub(crate) fn keeping(&self) -> Keeping {
        let usual = Keeping::default();
        Keeping {
            failed: self.keep_failed.unwrap_or(usual.failed),
            failed_elsewhere: self.keep_failed.unwrap_or(usual.failed_elsewhere),
            one_off: self.keep_one_off.unwrap_or(usual.one_off),
            most: self.keep_most,
        }
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.intercept_idle_timeout.filter(|limit| !limit.is_zero())
    }
}

/// A number and its unit: `90s`, `5m`, `120h`; a plain 0 needs none.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: Option<u64> = digits.parse().ok();
    let seconds = match &text[digits.len()..] {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "" if number == Some(0) => Some(1),
        _ => None,
    };
    let total = number
        .zip(seconds)
        .and_then(|(n, unit)| n.checked_mul(unit));
    total
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{text:?} is no length of time; write it as 90s, 5m or 120h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, seconds) in [("0", 0), ("90s", 90), ("5m", 300), ("120h", 432_000)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "m", "5d", "-1s", "1.5h", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration(&format!("{}h", u64::MAX)).is_err());
    }
}
