//! Names can be searched: a public type says of what it is, and so does a constant.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_tidy::{files, read, shown};

/// Words that are no name for a type that other files use: a dozen types would have each of them.
const BARE_TYPES: [&str; 24] = [
    "Answer", "Ask", "Asked", "Desk", "Ended", "Entry", "Found", "Heard", "Held", "House", "Kept",
    "Known", "Line", "Look", "Place", "Said", "Scope", "Seen", "Sight", "Told", "Verdict", "Want",
    "Wanted", "Written",
];

/// Words that are no name for a constant.
const BARE_CONSTANTS: [&str; 8] = [
    "AGAIN", "LASTS", "LONGEST", "LOOK", "MOST", "PATIENCE", "SOON", "WAITS",
];

/// The name of the type that a line defines for other files.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    let rest = ["struct ", "enum ", "trait ", "type "]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

/// The name of the constant that a line defines.
fn constant(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("const ")?;
    let is_item = before.trim().is_empty() || before.trim_start().starts_with("pub");
    is_item.then_some(rest.split(':').next()?)
}

#[test]
fn names_say_of_what() {
    let mut bare = Vec::new();
    for path in files("rs").unwrap() {
        for (number, line) in read(&path).unwrap().lines().enumerate() {
            let is_bare = public_type(line).is_some_and(|name| BARE_TYPES.contains(&name))
                || constant(line).is_some_and(|name| BARE_CONSTANTS.contains(&name));
            if is_bare {
                bare.push(format!("{}:{}: {}", shown(&path), number + 1, line.trim()));
            }
        }
    }
    assert!(
        bare.is_empty(),
        "prefix these by their subject, as PullAnswer or REQUEST_TIMEOUT:\n  {}",
        bare.join("\n  ")
    );
}

#[test]
fn definitions_are_found() {
    assert_eq!(public_type("pub(crate) struct Found<'a> {"), Some("Found"));
    assert_eq!(public_type("    pub enum Answer {"), Some("Answer"));
    assert_eq!(public_type("struct Found {"), None);
    assert_eq!(constant("    const MOST: usize = 3;"), Some("MOST"));
    assert_eq!(constant("pub(crate) const MOST: usize = 3;"), Some("MOST"));
    assert_eq!(constant("let x = const { MOST };"), None);
}
