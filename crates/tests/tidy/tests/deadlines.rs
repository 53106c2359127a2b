//! A moment plus a length of time panics where a clock cannot hold the sum: input must not come to
//! that.

use airside_tidy::{files, product, read, shown};

/// Beginnings of sums whose first part is the present.
const SUMS: [&str; 2] = ["now() + ", "now + "];

/// The lines that add something other than a constant to the present.
fn risky_sums(text: &str) -> Vec<usize> {
    let text = product(text);
    let sums = SUMS.iter().flat_map(|sum| text.match_indices(sum));
    let mut lines: Vec<usize> = sums
        .filter(|(at, sum)| {
            let added = text[at + sum.len()..].chars().next();
            let before = text[..*at].chars().next_back();
            let is_whole_name = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
            is_whole_name && added.is_some_and(char::is_lowercase)
        })
        .map(|(at, _)| text[..at].lines().count())
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn deadlines_are_made_by_one_function() {
    let mut risky = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        if airside_tidy::crate_of(&place).is_none() {
            continue;
        }
        let lines = risky_sums(&read(&path).unwrap());
        risky.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        risky.is_empty(),
        "use airside_model::deadline_after here, which cannot overflow:\n  {}",
        risky.join("\n  ")
    );
}

#[test]
fn risky_sums_are_found() {
    let text = "let a = Instant::now() + patience;\nlet b = now + self.rest;\n";
    assert_eq!(risky_sums(text), [1, 2]);
    let text = "let a = Instant::now() + PATIENCE;\nlet b = deadline_after(now, rest);\nlet c = known + one;\n";
    assert!(risky_sums(text).is_empty());
}
