//! A function has one error: a result within a result leaves it to each caller to find out which of
//! the two means what. An enum names the ways a call can end (`docs/style.md`, *Names*).

use airside_tidy::{crate_of, files, product, read, shown};

/// Files whose functions may return such a result, each with the reason.
const EXEMPT: &[(&str, &str)] = &[(
    "crates/runtime/kubernetes/src/runtime",
    "a deadline of ours around an answer of the API server, whose errors its callers tell apart",
)];

/// Returns the lines of a source file with a result within a result.
fn nested_results(text: &str) -> Vec<usize> {
    let text = product(text);
    let nested = text.match_indices("Result<").filter(|(at, result)| {
        let given = text[at + result.len()..].trim_start();
        let path = given.trim_start_matches(|c: char| c.is_lowercase() || matches!(c, '_' | ':'));
        path.starts_with("Result<")
    });
    nested
        .map(|(at, _)| text[..at].matches('\n').count() + 1)
        .collect()
}

#[test]
fn no_result_holds_a_result() {
    let mut nested = Vec::new();
    for path in files("rs").unwrap_or_default() {
        let place = shown(&path);
        let is_product = crate_of(&place).is_some_and(|name| !name.starts_with("tests/"));
        if !is_product || EXEMPT.iter().any(|(file, _)| place.starts_with(file)) {
            continue;
        }
        let lines = nested_results(&read(&path).unwrap_or_default());
        nested.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        nested.is_empty(),
        "name the ways in which these can end by an enum:\n  {}",
        nested.join("\n  ")
    );
}

#[test]
fn nested_results_are_found() {
    for nested in [
        "io::Result<Result<A, B>>",
        "Result<\n    std::result::Result<A, B>>",
    ] {
        assert_eq!(
            nested_results(&format!("fn a() -> {nested} {{}}")),
            [1],
            "{nested}"
        );
    }
    for plain in ["Result<A, B>", "Result<Vec<A>, B>", "Option<Result<A, B>>"] {
        assert!(
            nested_results(&format!("fn a() -> {plain} {{}}")).is_empty(),
            "{plain}"
        );
    }
}
