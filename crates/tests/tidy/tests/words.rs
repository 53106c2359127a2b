//! Comments and messages are plain English: comments begin with a verb or a noun and fit the page,
//! and both name their actor (`docs/style.md`).

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_tidy::{crate_of, files, packages, product, read, shown};

/// Words that begin a clause without its subject. Such a comment needs the line above it.
const HEADLESS: [&str; 33] = [
    "What", "Whether", "How", "Where", "Who", "Whom", "Whose", "Of", "For", "As", "Those", "That",
    "Which", "The same", "So that", "Than", "Why", "When", "It", "Its", "Not", "From", "By",
    "With", "After", "Between", "Without", "Until", "Before", "On", "In", "To", "Under",
];

/// Headless openings that are allowed, in percent of all comments of items.
const HEADLESS_PERCENT: usize = 1;

/// Words for an actor that has a name: tenant, administrator, step, kubelet.
const NAMELESS: [&str; 8] = [
    "nobody",
    "somebody",
    "whoever",
    "anybody",
    "whom",
    "someone",
    "no one",
    "everybody",
];

/// Lines with such words that are allowed in the whole tree: quotations, and the account `nobody`.
const NAMELESS_LINES: usize = 40;

/// Columns of a comment, as `rustfmt.toml` has them for code.
const COLUMNS: usize = 100;

/// The text of a line of a comment for readers of the item, without its marks.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))?;
    (!text.starts_with('/')).then_some(text.trim())
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn has_word(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(char::is_alphanumeric) && starts_with_word(&text[at..], word)
    })
}

/// The first lines of all comments of items in a file, with their numbers.
fn openings(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let doc = doc(line);
        if let Some(doc) = doc.filter(|_| !inside) {
            found.push((number + 1, doc));
        }
        inside = doc.is_some();
    }
    found
}

#[test]
fn comments_begin_with_their_subject() {
    let (mut all, mut headless) = (0, Vec::new());
    for path in files("rs").unwrap() {
        let text = read(&path).unwrap();
        for (number, opening) in openings(&text) {
            all += 1;
            if HEADLESS.iter().any(|word| starts_with_word(opening, word)) {
                headless.push(format!("{}:{number}: {opening}", shown(&path)));
            }
        }
    }
    assert!(
        headless.len() * 100 <= all * HEADLESS_PERCENT,
        "{} of {all} comments begin without a subject:\n  {}",
        headless.len(),
        headless.join("\n  ")
    );
}

#[test]
fn descriptions_of_crates_begin_with_their_subject() {
    let mut wrong = Vec::new();
    for package in packages().unwrap().values() {
        let description = package.description.as_deref().unwrap_or_default();
        let is_headless = HEADLESS
            .iter()
            .any(|word| starts_with_word(description, word));
        if is_headless || NAMELESS.iter().any(|word| has_word(description, word)) {
            wrong.push(format!("{}: {description}", package.place));
        }
    }
    assert!(
        wrong.is_empty(),
        "say what these crates are or do:\n  {}",
        wrong.join("\n  ")
    );
}

#[test]
fn actors_have_names() {
    let mut nameless = Vec::new();
    for path in files("rs").unwrap() {
        if shown(&path).starts_with("crates/tests/tidy/") {
            continue;
        }
        for (number, line) in read(&path).unwrap().lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if is_comment && NAMELESS.iter().any(|word| has_word(line, word)) {
                nameless.push(format!("{}:{}: {}", shown(&path), number + 1, line.trim()));
            }
        }
    }
    assert!(
        nameless.len() <= NAMELESS_LINES,
        "{} lines name no actor:\n  {}",
        nameless.len(),
        nameless.join("\n  ")
    );
}

/// Returns the texts in quotes of a line of code.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    let code = !line.trim_start().starts_with("//");
    line.split('"').skip(1).step_by(2).filter(move |_| code)
}

#[test]
fn messages_name_their_actor() {
    let mut nameless = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        if crate_of(&place).is_none_or(|name| name.starts_with("tests/")) {
            continue;
        }
        for (number, line) in product(&read(&path).unwrap()).lines().enumerate() {
            // A text of several words is a message: one word alone is an account or a key.
            let mut messages = texts(line).filter(|text| text.contains(' '));
            if messages.any(|text| NAMELESS.iter().any(|word| has_word(text, word))) {
                nameless.push(format!("{place}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        nameless.is_empty(),
        "messages that name no actor:\n  {}",
        nameless.join("\n  ")
    );
}

#[test]
fn comments_fit_the_page() {
    let mut wide = Vec::new();
    for path in files("rs").unwrap() {
        for (number, line) in read(&path).unwrap().lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            // An address cannot be wrapped.
            let is_address = line.contains("://");
            if is_comment && line.chars().count() > COLUMNS && !is_address {
                wide.push(format!("{}:{}", shown(&path), number + 1));
            }
        }
    }
    assert!(
        wide.is_empty(),
        "comments of more than {COLUMNS} columns:\n  {}",
        wide.join("\n  ")
    );
}

#[test]
fn openings_are_found() {
    let text = "/// What it is.\n/// Of more.\nfn a() {}\n//! Whatever.\n\n//// no\n/// Name.\n";
    let found: Vec<&str> = openings(text).into_iter().map(|(_, text)| text).collect();
    assert_eq!(found, ["What it is.", "Whatever.", "Name."]);
    let line = r#"a("one two", b, "three")"#;
    assert_eq!(texts(line).collect::<Vec<_>>(), ["one two", "three"]);
    assert_eq!(texts(r#"// "one two""#).count(), 0);
    assert!(starts_with_word("What it is", "What"));
    assert!(!starts_with_word("Whatever", "What"));
    assert!(has_word("// So that nobody waits", "nobody"));
    assert!(!has_word("// nobodys", "nobody"));
}
