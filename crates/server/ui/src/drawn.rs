//! Small drawings that rows are made of: glyphs of statuses, icons, times, bars of durations.

use std::time::Duration;

use airside_model::Version;

use crate::{PageStatus, age_text, duration_text};

impl PageStatus {
    /// Draws the glyph of the status with its word for readers.
    pub(crate) fn drawn(self, size: &str) -> String {
        let (name, word) = (self.name(), self.word());
        format!(
            "<svg class=\"glyph s-{name} {size}\" role=\"img\" aria-label=\"{word}\"><title>{word}</title>\
             <use href=\"#g-{name}\"/></svg>"
        )
    }
}

/// Draws a glyph beside its word, so readers skip it.
pub(crate) fn icon_glyph(status: PageStatus) -> String {
    let name = status.name();
    format!(
        "<svg class=\"glyph glyph-14 s-{name}\" aria-hidden=\"true\"><use href=\"#g-{name}\"/></svg>"
    )
}

/// Draws an icon, which readers skip.
pub(crate) fn icon(name: &str, size: &str) -> String {
    format!("<svg class=\"icon {size}\" aria-hidden=\"true\"><use href=\"#{name}\"/></svg>")
}

/// Returns the icon of a resource's type.
pub fn type_icon(type_: &str) -> &'static str {
    match type_ {
        "git" | "github-release" | "pull-request" | "hg" => "i-branch",
        "registry-image" | "docker-image" => "i-image",
        "time" | "cron" => "i-clock",
        "s3" | "gcs" | "file" => "i-bucket",
        "semver" | "pool" => "i-tag",
        "slack" | "mail" | "http" => "i-chat",
        "kubernetes" => "i-cluster",
        _ => "i-file",
    }
}

/// A point in time: its text for people, and its exact value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTime {
    seconds: i64,
    age: String,
}

impl PageTime {
    /// Makes a time of seconds since 1970, as seen at `now`.
    pub fn new(seconds: i64, now: i64) -> Self {
        let passed = u64::try_from(now.saturating_sub(seconds)).unwrap_or_default();
        Self {
            seconds,
            age: age_text(Duration::from_secs(passed)),
        }
    }

    /// Draws the time passed since, which `page.js` keeps current.
    pub(crate) fn aged(&self) -> String {
        let (iso, age) = (iso_text(self.seconds), &self.age);
        format!("<time datetime=\"{iso}\" title=\"{iso}\" data-age>{age}</time>")
    }
}

/// The time that a build or a step took, or takes until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowTime {
    /// Nothing has begun.
    #[default]
    None,
    Done(Duration),
    Since {
        /// Seconds since 1970.
        start: i64,
        passed: Duration,
    },
}

impl RowTime {
    /// Makes a time of a start and an end, as seen at `now`; all in seconds since 1970.
    pub fn between(start: Option<i64>, end: Option<i64>, now: i64) -> Self {
        let passed = |from: i64, to: i64| {
            Duration::from_secs(u64::try_from(to.saturating_sub(from)).unwrap_or_default())
        };
        match (start, end) {
            (None, _) => Self::None,
            (Some(start), Some(end)) => Self::Done(passed(start, end)),
            (Some(start), None) => Self::Since {
                start,
                passed: passed(start, now),
            },
        }
    }

    /// Returns the duration so far.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Done(took) => Some(took),
            Self::Since { passed, .. } => Some(passed),
        }
    }

    /// Returns the duration so far as text, where nothing counts on.
    pub(crate) fn plain(self) -> String {
        self.duration().map_or_else(String::new, whole_text)
    }

    /// Draws the duration; `page.js` counts on where it is not over.
    pub(crate) fn text(self) -> String {
        match self {
            Self::None => "–".to_owned(),
            Self::Done(took) => whole_text(took),
            Self::Since { start, passed } => {
                let passed = whole_text(passed);
                format!("<span data-since=\"{start}\">{passed}</span>")
            }
        }
    }
}

/// Returns a duration known to the second.
pub(crate) fn whole_text(took: Duration) -> String {
    match took.as_secs() {
        seconds @ 0..10 => format!("{seconds} s"),
        _ => duration_text(took),
    }
}

/// Draws a duration beside others: the longest fills the bar, a line marks the median.
pub(crate) fn duration_bar(
    status: PageStatus,
    took: Option<Duration>,
    longest: Duration,
    median: Option<Duration>,
) -> String {
    let Some(took) = took.filter(|_| !longest.is_zero()) else {
        return String::new();
    };
    let percent = |part: Duration| {
        let share = part.as_secs_f64() / longest.as_secs_f64() * 100.0;
        format!("{:.0}%", share.clamp(1.0, 100.0))
    };
    let line = median.map_or_else(String::new, |median| {
        let at = percent(median);
        format!("<line class=\"median\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"8\"/>")
    });
    format!(
        "<svg class=\"dur-bar\" aria-hidden=\"true\"><rect class=\"track\" y=\"2\" width=\"100%\" height=\"4\" rx=\"2\"/>\
         <rect class=\"run s-{}\" width=\"{}\" height=\"8\" rx=\"2\"/>{line}</svg>",
        status.name(),
        percent(took)
    )
}

/// Returns a version in one line: its values, hashes shortened as people write them.
pub fn version_text(version: &Version) -> String {
    let short = |value: &str| {
        let (prefix, digits) = value.split_once(':').unwrap_or(("", value));
        let is_hash = digits.len() >= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (is_hash, prefix) {
            (true, "") => digits[..7].to_owned(),
            (true, prefix) => format!("{prefix}:{}", &digits[..7]),
            (false, _) => value.to_owned(),
        }
    };
    let pairs = &version.0;
    if let (1, Some(value)) = (pairs.len(), pairs.values().next()) {
        return short(value);
    }
    let written: Vec<_> = pairs
        .iter()
        .map(|(key, value)| format!("{key}: {}", short(value)))
        .collect();
    written.join(", ")
}

/// Returns a version with every character of its values, for a title.
pub(crate) fn whole_version(version: &Version) -> String {
    let pairs = version.0.iter();
    let written: Vec<_> = pairs
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    written.join(", ")
}

/// Returns a time in seconds since 1970 as ISO 8601 has it, in UTC.
fn iso_text(seconds: i64) -> String {
    let (day, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil date of a day, by Howard Hinnant's algorithm: years begin in March.
    let shifted = day.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hours, minutes, seconds) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(pairs: &[(&str, &str)]) -> Version {
        let owned = pairs
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        Version(owned.collect())
    }

    #[test]
    fn times_are_written_as_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_121_089, "2026-11-19T20:44:49Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(iso_text(seconds), text);
        }
        iso_text(i64::MAX);
        iso_text(i64::MIN);
    }

    #[test]
    fn hashes_are_shortened_and_other_values_are_not() {
        let hash = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334";
        assert_eq!(version_text(&version(&[("ref", hash)])), "a1b2c3d");
        let digest = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(
            version_text(&version(&[("digest", &digest)])),
            "sha256:0f0f0f0"
        );
        assert_eq!(version_text(&version(&[("number", "1.22")])), "1.22");
        let two = version(&[("number", "1"), ("tag", "ü".repeat(50).as_str())]);
        assert!(version_text(&two).starts_with("number: 1, tag: ü"));
        assert_eq!(version_text(&version(&[])), "");
    }

    #[test]
    fn bars_stay_inside_of_their_track() {
        let longest = Duration::from_secs(10);
        let bar = duration_bar(
            PageStatus::Failed,
            Some(Duration::from_secs(5)),
            longest,
            Some(Duration::from_secs(20)),
        );
        assert!(
            bar.contains("width=\"50%\"") && bar.contains("x1=\"100%\""),
            "{bar}"
        );
        let none = duration_bar(PageStatus::Failed, None, longest, None);
        assert_eq!(none, "");
        let zero = duration_bar(PageStatus::Failed, Some(longest), Duration::ZERO, None);
        assert_eq!(zero, "");
    }

    #[test]
    fn running_times_count_on() {
        assert_eq!(RowTime::between(None, None, 9).text(), "–");
        assert_eq!(RowTime::between(Some(1), Some(5), 9).text(), "4 s");
        let running = RowTime::between(Some(100), None, 290);
        assert_eq!(running.text(), "<span data-since=\"100\">3 m 10 s</span>");
        let ahead = RowTime::between(Some(100), None, 90);
        assert_eq!(ahead.duration(), Some(Duration::ZERO));
    }
}
