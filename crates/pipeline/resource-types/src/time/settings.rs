//! Settings of `time` in `source` and `params`.

use jiff::civil::{DateTime, Time, Weekday};
use serde::Deserialize;

use crate::Failure;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source {
    pub(super) initial_version: bool,
    pub(super) interval: Option<String>,
    pub(super) start: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) days: Vec<String>,
    pub(super) location: Option<String>,
    pub(super) start_after: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct NoParams {}

/// `3:04 PM`, `3PM`, `3 PM`, `15:04` or `1504`, each with an offset behind it if one must. A time
/// with an offset is a time of day in UTC.
pub(super) fn time_of_day(text: &str) -> Result<Time, Failure> {
    let (clock, offset) = match text.rsplit_once(' ') {
        Some((clock, offset)) if offset.starts_with(['+', '-']) => (clock, Some(offset)),
        _ => (text, None),
    };
    let time = clock_time(clock).and_then(|time| match offset {
        Some(offset) => Some(time.wrapping_sub(jiff::SignedDuration::from_mins(minutes(offset)?))),
        None => Some(time),
    });
    time.ok_or_else(|| {
        Failure::said(format!(
            "{text:?} is not a time of day: write it like \"3:04 PM\", \"3PM\" or \"15:04\""
        ))
    })
}

fn clock_time(text: &str) -> Option<Time> {
    ["%I:%M %p", "%I%p", "%I %p", "%H:%M", "%H%M"]
        .iter()
        .find_map(|format| Time::strptime(format, text).ok())
}

/// `+0730` in minutes.
fn minutes(offset: &str) -> Option<i64> {
    let (sign, digits) = offset.split_at(1);
    if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let total = digits[..2].parse::<i64>().ok()? * 60 + digits[2..].parse::<i64>().ok()?;
    Some(if sign == "-" { -total } else { total })
}

pub(super) fn weekday(text: &str) -> Result<Weekday, Failure> {
    let known = [
        ("sunday", Weekday::Sunday),
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
    ];
    let asked = text.to_lowercase();
    known
        .iter()
        .find(|(name, _)| *name == asked || name[..3] == asked)
        .map(|(_, day)| *day)
        .ok_or_else(|| {
            Failure::said(format!(
                "{text:?} is not a day of the week: write it like \"Monday\""
            ))
        })
}

/// A date, with as much of a time behind it as one likes.
pub(super) fn date_time(text: &str) -> Result<DateTime, Failure> {
    let completed = match text.len() {
        10 => format!("{text}T00:00:00"),
        13 => format!("{text}:00:00"),
        16 => format!("{text}:00"),
        _ => text.to_owned(),
    };
    ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]
        .iter()
        .find_map(|format| DateTime::strptime(format, &completed).ok())
        .ok_or_else(|| {
            Failure::said(format!(
                "{text:?} is not a date: write it like \"2026-01-31\" or \"2026-01-31T15:04:05\""
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day() {
        for (text, hour, minute) in [
            ("3:04 PM", 15, 4),
            ("3PM", 15, 0),
            ("12 AM", 0, 0),
            ("15:04", 15, 4),
            ("0815", 8, 15),
            ("7:00 PM +0700", 12, 0),
            ("1:00 -0400", 5, 0),
            ("1:00 +0400", 21, 0),
        ] {
            let time = time_of_day(text).unwrap();
            assert_eq!((time.hour(), time.minute()), (hour, minute), "{text}");
        }
        for text in [
            "",
            "noon",
            "24:00",
            "13 PM",
            "1140s",
            "3:04 PM EST",
            "1:00 +4",
        ] {
            assert!(time_of_day(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dates_may_be_cut_short() {
        for (text, full) in [
            ("2026-01-31", "2026-01-31T00:00:00"),
            ("2026-01-31T15", "2026-01-31T15:00:00"),
            ("2026-01-31T15:04", "2026-01-31T15:04:00"),
            ("2026-01-31 15:04:05", "2026-01-31T15:04:05"),
        ] {
            assert_eq!(date_time(text).unwrap().to_string(), full, "{text}");
        }
        for text in ["", "2026", "2026-13-01", "2026-01-31T", "ünïcödë-öäü"] {
            assert!(date_time(text).is_err(), "{text}");
        }
    }
}
