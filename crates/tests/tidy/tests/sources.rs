//! Source files stay small, finished and introduced.

use airside_tidy::{files, packages, read, shown};

/// Past this a file usually holds two things.
const MOST_LINES: usize = 600;

/// Words that say a thing is not finished. Spelled in pieces, or this file would break its own
/// rule.
const UNFINISHED: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

/// True if `word` stands in `line` by itself, not as a part of a longer name.
fn mentions(line: &str, word: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(in_name) && (word.ends_with('!') || !after.is_some_and(in_name))
    })
}

fn starts_with_module_doc(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.starts_with("//!"))
}

#[test]
fn no_source_file_is_too_long() {
    let long: Vec<String> = files("rs")
        .unwrap()
        .iter()
        .map(|path| (shown(path), read(path).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert!(
        long.is_empty(),
        "split these (at most {MOST_LINES} lines):\n  {}",
        long.join("\n  ")
    );
}

#[test]
fn nothing_is_left_unfinished() {
    let mut left = Vec::new();
    for path in files("rs").unwrap() {
        for (number, line) in read(&path).unwrap().lines().enumerate() {
            if UNFINISHED.iter().any(|word| mentions(line, word)) {
                left.push(format!("{}:{}: {}", shown(&path), number + 1, line.trim()));
            }
        }
    }
    assert!(
        left.is_empty(),
        "finish these, or take them out:\n  {}",
        left.join("\n  ")
    );
}

#[test]
fn every_crate_says_what_it_is_for() {
    let mut silent = Vec::new();
    for (name, package) in packages().unwrap() {
        if package
            .description
            .is_none_or(|text| text.trim().is_empty())
        {
            silent.push(format!("{name}: no description in Cargo.toml"));
        }
        for root in package
            .roots
            .iter()
            .filter(|root| !starts_with_module_doc(&read(root).unwrap()))
        {
            silent.push(format!("{}: does not begin with //!", shown(root)));
        }
    }
    assert!(
        silent.is_empty(),
        "introduce these:\n  {}",
        silent.join("\n  ")
    );
}

#[test]
fn a_module_doc_must_come_first() {
    assert!(starts_with_module_doc(
        "\n//! What it is for.\nfn main() {}"
    ));
    assert!(!starts_with_module_doc("fn main() {}\n//! Too late."));
    assert!(!starts_with_module_doc(""));
}

#[test]
fn only_whole_words_count_as_unfinished() {
    let [later, broken, macro_one, macro_two] = UNFINISHED;
    assert!(mentions(&format!("// {later}: more"), later));
    assert!(mentions(&format!("// {broken}"), broken));
    assert!(mentions(&format!("    {macro_one}()"), macro_one));
    assert!(mentions(&format!("{macro_two}(\"x\")"), macro_two));
    assert!(!mentions(&format!("const {later}S: u8 = 1;"), later));
    assert!(!mentions(&format!("my_{macro_one}()"), macro_one));
}

#[test]
fn no_snapshot_waits_for_a_review() {
    let waiting: Vec<String> = files("new")
        .unwrap()
        .iter()
        .map(|path| shown(path))
        .collect();
    assert!(
        waiting.is_empty(),
        "accept these or take them out:\n  {}",
        waiting.join("\n  ")
    );
}
