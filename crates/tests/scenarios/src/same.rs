//! Comparing what two builds printed.

/// Panics with the place of the first difference; the whole is too long to look at.
#[track_caller]
pub fn assert_same_text(found: &str, expected: &str) {
    if found == expected {
        return;
    }
    let differs = found
        .lines()
        .zip(expected.lines())
        .position(|(a, b)| a != b);
    let at = differs.unwrap_or_else(|| found.lines().count().min(expected.lines().count()));
    let around = |text: &str| {
        text.lines()
            .skip(at.saturating_sub(2))
            .take(5)
            .collect::<Vec<_>>()
            .join("\n")
    };
    panic!(
        "line {at} differs; expected:\n{}\nfound:\n{}",
        around(expected),
        around(found)
    );
}
