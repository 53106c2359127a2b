//! No behaviour depends on the words of a message: causes are types, and messages are for people.
//!
//! Other people's programs say some things in words alone. Each file that reads such words is
//! listed here with the reason, turns them into a type at once, and is the only one to read them.

use airside_tidy::{crate_of, files, product, read, shown};

/// Names of values that hold a message.
const MESSAGES: [&str; 10] = [
    "to_string()",
    "chain(&error)",
    "reason",
    "message",
    "words",
    "error",
    "why",
    "complaints",
    "summary",
    "stderr",
];

/// Calls that look for words in a text.
const SEARCHES: [&str; 4] = ["contains", "starts_with", "ends_with", "split_once"];

/// Files that may decide by the words of a message, each with the reason.
const EXEMPT: &[(&str, &str)] = &[
    (
        "crates/base/blocking-http/src/error.rs",
        "rustls names this one fault of a certificate by words alone, and only the advice depends on it",
    ),
    (
        "crates/pipeline/config/src/reader/fields.rs",
        "`words` is the list of allowed values",
    ),
    (
        "crates/pipeline/config/src/validate/var_sources.rs",
        "`words` is the list of allowed values",
    ),
    (
        "crates/pipeline/resource-types/src/git/push_end.rs",
        "git has one flag for every refused push, and its documented summary tells them apart",
    ),
    (
        "crates/server/secret-managers/src/open.rs",
        "serde names an unknown field by words alone, and only the message depends on it",
    ),
    (
        "crates/runtime/kubernetes/src/observed/waiting.rs",
        "the kubelet tells kinds of failed pulls apart by words alone",
    ),
    (
        "crates/runtime/kubernetes/src/refusal.rs",
        "the API server tells kinds of 403 apart by words alone",
    ),
    (
        "crates/runtime/kubernetes/src/room/shortage.rs",
        "quotas and the scheduler name shortages by words alone",
    ),
];

/// The lines of a source file that look for words in a message.
fn decisions_by_text(text: &str) -> Vec<usize> {
    let text = product(text);
    let searched = |line: &str, message: &str| {
        SEARCHES.iter().any(|search| {
            let call = format!("{message}.{search}(");
            line.match_indices(&call).any(|(at, _)| {
                // A whole name, and no part of a longer one.
                let before = line[..at].chars().next_back();
                message.ends_with("()") || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let is_code = !line.trim_start().starts_with("//") && !line.contains("assert");
        is_code && MESSAGES.iter().any(|message| searched(line, message))
    });
    lines.map(|(index, _)| index + 1).collect()
}

#[test]
fn no_decision_is_made_by_the_words_of_a_message() {
    let mut found = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        let is_product = crate_of(&place).is_some_and(|name| !name.starts_with("tests/"));
        if !is_product || EXEMPT.iter().any(|(file, _)| *file == place) {
            continue;
        }
        let lines = decisions_by_text(&read(&path).unwrap());
        found.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        found.is_empty(),
        "give the message a cause (an enum beside its words) and match that:\n  {}",
        found.join("\n  ")
    );
}

#[test]
fn the_exemptions_name_files_that_exist() {
    for (file, _) in EXEMPT {
        let path = airside_tidy::root().join(file);
        assert!(path.is_file(), "{file} does not exist");
    }
}

#[test]
fn decisions_by_text_are_found() {
    let text =
        "fn a() {\n    if reason.contains(WORD) {}\n    e.to_string().starts_with(\"x\")\n}\n";
    assert_eq!(decisions_by_text(text), [2, 3]);
    let text =
        "fn a() {\n    ended.complaints.contains(\"x\")\n    chain(&error).contains(\"y\")\n}\n";
    assert_eq!(decisions_by_text(text), [2, 3]);
    for fine in [
        "let a = reasons.contains(&b);",
        "let a = some_message.contains(b);",
        "// reason.contains(b)",
        "assert!(reason.contains(b));",
    ] {
        assert!(decisions_by_text(fine).is_empty(), "{fine}");
    }
}
