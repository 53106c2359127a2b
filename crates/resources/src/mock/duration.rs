//! Durations as Go writes them: `300ms`, `1.5h`, `1h2m3s`.

use std::time::Duration;

use crate::Failure;

pub(super) fn parse(text: &str) -> Result<Duration, Failure> {
    seconds(text)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| {
            Failure::Said(format!(
                "{text:?} is not a duration: write it like \"10s\" or \"1h30m\""
            ))
        })
}

fn seconds(text: &str) -> Option<f64> {
    if text == "0" {
        return Some(0.0);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        total += number.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_in_go() {
        for (text, millis) in [
            ("0", 0),
            ("10s", 10_000),
            ("300ms", 300),
            ("1h2m3s", 3_723_000),
            ("1.5m", 90_000),
        ] {
            assert_eq!(
                parse(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
        for text in ["", "10", "s", "1x", "-1s", "1..5s", "1e400s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
