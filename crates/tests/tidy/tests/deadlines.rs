//! A moment plus a length of time panics where a clock cannot hold the sum, and a length of time
//! multiplied by a fraction panics where the product is too long: input must not come to that.

use airside_tidy::{files, product, read, shown};

/// The file whose functions the others use.
const HOME: &str = "crates/base/model/src/duration.rs";

/// Last words of names that hold a moment or the time since one.
const MOMENTS: [&str; 14] = [
    "now",
    "now()",
    "since",
    "started",
    "begun",
    "began",
    "until",
    "deadline",
    "moment",
    "renewed",
    "asked",
    "seen",
    "elapsed()",
    "checked",
];

/// Names that hold a moment only in files that know a clock; in others they are places in a text.
const PERHAPS_MOMENTS: [&str; 3] = ["start", "last", "opened"];

/// Calls that panic if their factor is too large or negative.
const PRODUCTS: [&str; 4] = [
    ".mul_f64(",
    ".mul_f32(",
    "::from_secs_f64(",
    "::from_secs_f32(",
];

/// Returns true if the text ends in this name as a whole, which may be a field or a call.
fn ends_in(text: &str, name: &str) -> bool {
    let before = text.strip_suffix(name).map(|rest| rest.chars().next_back());
    before.is_some_and(|c| !c.is_some_and(|c| c.is_alphanumeric() || c == '_'))
}

/// The lines that add something other than a constant to a moment, or multiply a duration unsafely.
fn risky_lines(text: &str) -> Vec<usize> {
    let text = product(text);
    let knows_a_clock = ["Instant", "SystemTime", "Timestamp"]
        .iter()
        .any(|clock| text.contains(clock));
    let is_moment = |before: &str| {
        MOMENTS.iter().any(|name| ends_in(before, name))
            || (knows_a_clock && PERHAPS_MOMENTS.iter().any(|name| ends_in(before, name)))
    };
    let sums = text.match_indices(" + ").filter(|(at, sum)| {
        let added = text[at + sum.len()..].chars().next();
        added.is_some_and(|c| c.is_lowercase() || c == '(' || c == '*') && is_moment(&text[..*at])
    });
    let products = PRODUCTS.iter().flat_map(|call| text.match_indices(call));
    let mut lines: Vec<usize> = sums
        .chain(products)
        .map(|(at, _)| text[..=at].lines().count())
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn deadlines_are_made_by_one_function() {
    let mut risky = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        if airside_tidy::crate_of(&place).is_none() || place == HOME {
            continue;
        }
        let lines = risky_lines(&read(&path).unwrap());
        risky.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        risky.is_empty(),
        "use airside_model::deadline_after or scale_duration here, which cannot overflow:\n  {}",
        risky.join("\n  ")
    );
}

#[test]
fn risky_lines_are_found() {
    let found = [
        "let a = Instant::now() + patience;",
        "let b = now + self.rest;",
        "let c = tokio::time::timeout_at(since + pace.left(), next);",
        "let d = self.started + (wait * 2);",
        "if renewed.elapsed() + self.terms.every > self.terms.lasts {",
        "let e: Instant = start + every;",
        "let f = wait.mul_f64(0.9 + 0.2 * chance);",
        "let g = wait.mul_f32(chance);",
        "let h = Duration::from_secs_f64(1.0 / rate);",
    ];
    for line in found {
        assert_eq!(risky_lines(line), [1], "{line}");
    }
    assert_eq!(risky_lines(&found.join("\n")), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let text = "let a = Instant::now() + PATIENCE;\nlet b = deadline_after(now, rest);\n\
                let c = known + one;\nlet d = Duration::try_from_secs_f64(rest);\n";
    assert!(risky_lines(text).is_empty());
    assert!(risky_lines("let a = &text[start + open.len()..];").is_empty());
}
