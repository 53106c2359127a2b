//! The order of two names by the versions in them: like semantic versions, with any number of
//! parts.

use std::cmp::Ordering;

/// Compares `1.2.3-rc.1+4` part by part: numbers by value and before words, what is missing counts
/// as nothing, and a version with a hyphen comes before the one without.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (split(one), split(other));
    parts(one.0, other.0)
        .then_with(|| match (one.1, other.1) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (one, other) => parts(one, other),
        })
        .then_with(|| match (one.2, other.2) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Less,
            (_, "") => Ordering::Greater,
            (one, other) => parts(one, other),
        })
}

fn split(text: &str) -> (&str, &str, &str) {
    let (rest, post) = text.split_once('+').unwrap_or((text, ""));
    let (release, pre) = rest.split_once('-').unwrap_or((rest, ""));
    (release, pre, post)
}

fn parts(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (one.split('.'), other.split('.'));
    loop {
        let (one, other) = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (one, other) => (one.unwrap_or("0"), other.unwrap_or("0")),
        };
        let order = match (number(one), number(other)) {
            (Some(one), Some(other)) => one.len().cmp(&other.len()).then_with(|| one.cmp(other)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => one.cmp(other),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// The digits of a number without those that say nothing; it may be longer than any integer.
fn number(text: &str) -> Option<&str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_is_greater() {
        let order = [
            "0",
            "1-alpha",
            "1-rc.2",
            "1-rc.10",
            "1",
            "1+2",
            "1.2",
            "1.2.0.1",
            "1.10",
            "20260101",
            "99999999999999999999999",
            "v1",
            "v2",
        ];
        for pair in order.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        assert_eq!(compare("1.0", "1"), Ordering::Equal);
        assert_eq!(compare("", ""), Ordering::Equal);
    }
}
