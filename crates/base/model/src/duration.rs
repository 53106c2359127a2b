//! Durations as Go writes them: `1h30m`, `1.5s`, `100ms`; and moments that lie a duration ahead.

use std::{ops::Add, time::Duration};

/// The longest duration that can be written: ten years, leap days included. Sums and small
/// multiples of such durations fit into every clock.
const LONGEST_DURATION: Duration = Duration::from_secs(3653 * 24 * 3600);

/// A deadline further ahead than this never comes.
const FAR: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// The reason why a text is not a duration. It reads on after the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    #[error("is not a duration; write it like 90s, 5m or 1h30m")]
    Unreadable,
    #[error("is longer than ten years, the longest duration there is (87672h)")]
    TooLong,
}

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

/// The moment that lies so far ahead of `start`. One that a clock could not hold is moved to a far
/// future.
pub fn deadline_after<T: Add<Duration, Output = T>>(start: T, patience: Duration) -> T {
    start + patience.min(FAR)
}

/// Multiplies a duration. The product is never negative and never longer than a century, whatever
/// the factor is.
pub fn scale_duration(duration: Duration, factor: f64) -> Duration {
    let seconds = duration.as_secs_f64() * factor;
    match Duration::try_from_secs_f64(seconds) {
        Ok(product) => product.min(FAR),
        Err(_) if seconds > 0.0 => FAR,
        Err(_) => Duration::ZERO,
    }
}

/// `None` if the text is not a duration, or one of more than ten years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    read_duration(text).ok()
}

/// Reads a duration, or says why the text is none. Negative ones are none for us: nothing can take
/// less than no time.
pub fn read_duration(text: &str) -> Result<Duration, BadDuration> {
    let seconds = seconds(text).ok_or(BadDuration::Unreadable)?;
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration
        .filter(|duration| *duration <= LONGEST_DURATION)
        .ok_or(BadDuration::TooLong)
}

fn seconds(text: &str) -> Option<f64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(0.0);
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
    Some(seconds)
}

/// Writes a duration as Go does: `1m0s`, `1.5s`, `2h0m0s`.
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
    fn hostile_durations_are_refused_with_words() {
        assert_eq!(read_duration("87672h"), Ok(LONGEST_DURATION));
        assert_eq!(
            read_duration("87600h").map(|time| time.as_secs()),
            Ok(315_360_000)
        );
        for text in [
            "87672h1s",
            "5000000000000000h",
            "2562047h47m16.854775808s",
            "99999999999999999999h",
            &format!("{}h", "9".repeat(400)),
        ] {
            assert_eq!(read_duration(text), Err(BadDuration::TooLong), "{text}");
        }
        assert_eq!(read_duration("soon"), Err(BadDuration::Unreadable));
        let words = BadDuration::TooLong.to_string();
        assert!(words.contains("longer than ten years"), "{words}");
    }

    #[test]
    fn hostile_deadlines_lie_in_a_far_future() {
        use std::time::Instant;
        let (now, century) = (Instant::now(), Duration::from_secs(100 * 365 * 24 * 3600));
        assert!(deadline_after(now, Duration::MAX) > now + century);
        assert!(deadline_after(Duration::ZERO, Duration::MAX) > century);
        let second = Duration::from_secs(1);
        assert_eq!(deadline_after(now, second), now + second);
    }

    #[test]
    fn hostile_products_are_never_negative_and_never_overflow() {
        let second = Duration::from_secs(1);
        for (duration, factor, expected) in [
            (second, 1.5, Duration::from_millis(1500)),
            (second, 0.0, Duration::ZERO),
            (second, -1.0, Duration::ZERO),
            (second, f64::NAN, Duration::ZERO),
            (second, f64::INFINITY, FAR),
            (Duration::MAX, 0.9, FAR),
            (Duration::MAX, f64::MAX, FAR),
            (Duration::from_secs(u64::MAX), 1.1, FAR),
        ] {
            let product = scale_duration(duration, factor);
            assert_eq!(product, expected, "{duration:?} * {factor}");
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
