//! The time at which a new version is due. Pure: the time comes in.

use std::time::Duration;

use airside_model::read_duration;
use jiff::{
    SignedDuration, Timestamp, ToSpan, Zoned,
    civil::{DateTime, Time, Weekday},
    tz::TimeZone,
};

use super::settings::{Source, date_time, time_of_day, weekday};
use crate::Failure;

#[derive(Debug)]
pub(super) struct Schedule {
    zone: TimeZone,
    interval: Option<Duration>,
    /// Begin and end of a window on each day; two equal times are the whole day.
    window: (Time, Time),
    days: Vec<Weekday>,
    start_after: Option<DateTime>,
}

impl Schedule {
    pub(super) fn new(source: Source) -> Result<Self, Failure> {
        let window = match (source.start, source.stop) {
            (Some(start), Some(stop)) => (time_of_day(&start)?, time_of_day(&stop)?),
            (None, None) => (Time::midnight(), Time::midnight()),
            (Some(_), None) => return Err(Failure::said("`stop` is missing beside `start`")),
            (None, Some(_)) => return Err(Failure::said("`start` is missing beside `stop`")),
        };
        Ok(Self {
            zone: source
                .location
                .filter(|name| !name.is_empty())
                .map_or(Ok(TimeZone::UTC), |name| zone(&name))?,
            interval: source.interval.map(|text| interval(&text)).transpose()?,
            window,
            days: source
                .days
                .iter()
                .map(|day| weekday(day))
                .collect::<Result<_, _>>()?,
            start_after: source
                .start_after
                .map(|text| date_time(&text))
                .transpose()?,
        })
    }

    pub(super) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// True if `now` should be a version, after the `previous` one.
    pub(super) fn is_due(&self, now: Timestamp, previous: Option<Timestamp>) -> bool {
        let here = now.to_zoned(self.zone.clone());
        if !self.days.is_empty() && !self.days.contains(&here.weekday()) {
            return false;
        }
        if self
            .start_after
            .is_some_and(|after| here.datetime() <= after)
        {
            return false;
        }
        // A day that the calendar cannot reckon with is not a day for a version.
        let Some((start, stop)) = self.window_around(&here) else {
            return false;
        };
        if now < start || now >= stop {
            return false;
        }
        match (previous, self.interval) {
            (None, _) => true,
            (Some(previous), Some(interval)) => SignedDuration::try_from(interval)
                .is_ok_and(|interval| now.duration_since(previous) >= interval),
            (Some(previous), None) => previous < start,
        }
    }

    /// The latest window that began at or before `here`. It may have ended.
    fn window_around(&self, here: &Zoned) -> Option<(Timestamp, Timestamp)> {
        let (from, until) = self.window;
        let mut date = here.date();
        if date.to_datetime(from) > here.datetime() {
            date = date.yesterday().ok()?;
        }
        let mut end = date.to_datetime(until);
        if until <= from {
            end = end.checked_add(1.day()).ok()?;
        }
        let at = |time: DateTime| Some(time.to_zoned(self.zone.clone()).ok()?.timestamp());
        Some((at(date.to_datetime(from))?, at(end)?))
    }
}

fn zone(name: &str) -> Result<TimeZone, Failure> {
    TimeZone::get(name).map_err(|_| {
        Failure::said(format!(
            "{name:?} is not a time zone: write it like \"Europe/Berlin\""
        ))
    })
}

fn interval(text: &str) -> Result<Duration, Failure> {
    read_duration(text).map_err(|why| Failure::said(format!("{text:?} {why}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn windows_days_and_zones() {
        // (source, now, previous, due)
        let night = json!({"interval": "1h", "start": "22:00", "stop": "4:00"});
        let whole_day = json!({"start": "6AM", "stop": "6AM"});
        let mondays = json!({"interval": "1m", "days": ["Monday", "wed"]});
        let berlin = json!({"start": "8:00", "stop": "9:00", "location": "Europe/Berlin"});
        let tokyo_mondays = json!({"days": ["Monday"], "location": "Asia/Tokyo"});
        let nowhere = json!({"interval": "1m", "location": ""});
        let later = json!({"interval": "1m", "start_after": "2026-03-01T12:00"});
        let cases: &[(&Value, &str, Option<&str>, bool)] = &[
            (&nowhere, "2026-03-01T23:00:00Z", None, true),
            (&night, "2026-03-01T23:00:00Z", None, true),
            (
                &night,
                "2026-03-02T03:59:59Z",
                Some("2026-03-01T23:00:00Z"),
                true,
            ),
            (
                &night,
                "2026-03-02T04:00:00Z",
                Some("2026-03-01T23:00:00Z"),
                false,
            ),
            (&night, "2026-03-02T12:00:00Z", None, false),
            (
                &whole_day,
                "2026-03-02T05:00:00Z",
                Some("2026-03-01T07:00:00Z"),
                false,
            ),
            (
                &whole_day,
                "2026-03-02T06:00:00Z",
                Some("2026-03-01T07:00:00Z"),
                true,
            ),
            (
                &json!({}),
                "2026-03-02T00:00:00Z",
                Some("2026-03-01T23:59:59Z"),
                true,
            ),
            (
                &json!({}),
                "2026-03-02T23:59:59Z",
                Some("2026-03-02T00:00:00Z"),
                false,
            ),
            (&mondays, "2026-03-02T10:00:00Z", None, true),
            (&mondays, "2026-03-03T10:00:00Z", None, false),
            (&mondays, "2026-03-04T10:00:00Z", None, true),
            // Summer time begins on 2026-03-29: eight o'clock is an hour earlier in UTC.
            (&berlin, "2026-03-28T07:30:00Z", None, true),
            (&berlin, "2026-03-30T07:30:00Z", None, false),
            (&berlin, "2026-03-30T06:30:00Z", None, true),
            (&tokyo_mondays, "2026-03-01T16:00:00Z", None, true),
            (&tokyo_mondays, "2026-03-02T16:00:00Z", None, false),
            (&later, "2026-03-01T12:00:00Z", None, false),
            (&later, "2026-03-01T12:00:01Z", None, true),
        ];
        for (source, now, previous, due) in cases {
            let parsed = serde_json::from_value((*source).clone()).unwrap();
            let schedule = Schedule::new(parsed).unwrap();
            let previous = previous.map(|time| time.parse().unwrap());
            let found = schedule.is_due(now.parse().unwrap(), previous);
            assert_eq!(found, *due, "{source} at {now} after {previous:?}");
        }
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        let schedule = Schedule::new(Source::default()).unwrap();
        for now in [Timestamp::MIN, Timestamp::MAX] {
            schedule.is_due(now, Some(Timestamp::MIN));
            schedule.is_due(now, Some(Timestamp::MAX));
        }
    }
}
