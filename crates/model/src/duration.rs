//! Durations as Go writes them: `1h30m`, `1.5s`, `100ms`.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// `None` if the text is no duration. Negative ones are none for us: nothing can take less than no time.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(Duration::ZERO);
    }
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        seconds += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// As Go writes durations: `1m0s`, `1.5s`, `2h0m0s`.
pub fn go_duration(duration: Duration) -> String {
    let nanos = duration.subsec_nanos();
    let whole = duration.as_secs();
    if whole == 0 {
        return match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => decimal(nanos / 1_000, nanos % 1_000, 3, "µs"),
            _ => decimal(nanos / 1_000_000, nanos % 1_000_000, 6, "ms"),
        };
    }
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    let mut text = String::new();
    if hours > 0 {
        text.push_str(&format!("{hours}h"));
    }
    if whole >= 60 {
        text.push_str(&format!("{minutes}m"));
    }
    text + &decimal((whole % 60) as u32, nanos, 9, "s")
}

fn decimal(whole: u32, part: u32, digits: usize, unit: &str) -> String {
    if part == 0 {
        return format!("{whole}{unit}");
    }
    let part = format!("{part:0digits$}");
    format!("{whole}.{}{unit}", part.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(parse_duration("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(parse_duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(parse_duration("100ms"), Some(Duration::from_millis(100)));
        assert_eq!(parse_duration("0"), Some(Duration::ZERO));
        assert_eq!(parse_duration("1m0s"), Some(Duration::from_secs(60)));
        for text in [
            "",
            "1",
            "m",
            "1x",
            "-1s",
            "1..5s",
            "1h 30m",
            "never",
            "99999999999999999999h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_go_does() {
        for (text, expected) in [
            ("0", "0s"),
            ("60s", "1m0s"),
            ("1h", "1h0m0s"),
            ("1.5s", "1.5s"),
            ("90m", "1h30m0s"),
            ("1500us", "1.5ms"),
            ("250ns", "250ns"),
            ("1m0.25s", "1m0.25s"),
        ] {
            assert_eq!(go_duration(parse_duration(text).unwrap()), expected);
        }
    }
}
