//! Times as people read them: `40 s`, `3 m 12 s`, `2 h`.

use std::time::Duration;

/// Returns a duration in at most two units. Below ten seconds it has one decimal.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", (duration.as_millis() / 100) as f64 / 10.0),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// Returns the time since something, in its largest unit.
pub fn age_text(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} m", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..5_270_400 => format!("{} d", seconds / 86_400),
        _ => format!("{} months", seconds / 2_635_200),
    }
}

/// Returns the time of day of a time in seconds since 1970, in UTC.
pub fn clock_text(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    let (hours, minutes) = (of_day / 3600, of_day / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = |millis| duration_text(Duration::from_millis(millis));
        for (millis, text) in [
            (0, "0.0 s"),
            (1_249, "1.2 s"),
            (9_999, "9.9 s"),
            (40_000, "40 s"),
            (192_000, "3 m 12 s"),
            (7_260_000, "2 h 1 m"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(shown(millis), text);
        }
    }

    #[test]
    fn ages_have_one_unit() {
        let shown = |seconds| age_text(Duration::from_secs(seconds));
        let all: Vec<_> = [3, 60, 7_200, 172_800, 21_081_600].map(shown).into();
        assert_eq!(all, ["3 s", "1 m", "2 h", "2 d", "8 months"]);
        assert_eq!(clock_text(50_531), "14:02:11");
    }
}
