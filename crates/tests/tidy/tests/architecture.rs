//! The map of the code is true: ARCHITECTURE.md has an entry for each crate under the heading of
//! its folder, and every file that an entry or a page names exists.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::path::Path;

use airside_tidy::{files, packages, read, root, shown};
use anyhow::Result;

/// The page that names files as they were once.
const OLD_NAMES: &str = "docs/old-names.md";

/// The words in backquotes of a text that is not fenced.
fn quoted(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let prose = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    prose
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The entries of the map: the place of the crate, such as `base/model`, and the entry's text.
fn entries(page: &str) -> Vec<(String, &str)> {
    let mut entries = Vec::new();
    for section in page.split("\n### `crates/").skip(1) {
        let section = section.split("\n## ").next().unwrap_or_default();
        let (folder, text) = section.split_once('`').unwrap_or_default();
        for entry in text.split("\n**`").skip(1) {
            let (name, text) = entry.split_once('`').unwrap_or_default();
            entries.push((format!("{folder}/{name}"), text));
        }
    }
    entries
}

/// Returns true if the text is the name of a source file or of a folder, and not of several.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    (text.ends_with(".rs") || text.ends_with('/')) && text.chars().all(plain)
}

#[test]
fn every_crate_has_an_entry_under_its_folder() -> Result<()> {
    let page = read(&root().join("ARCHITECTURE.md"))?;
    let entries = entries(&page);
    let missing: Vec<String> = packages()?
        .into_values()
        .map(|package| package.place)
        .filter(|place| !entries.iter().any(|(entry, _)| entry == place))
        .collect();
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md has no entry under their folder for: {missing:?}"
    );
    Ok(())
}

#[test]
fn files_of_entries_exist() -> Result<()> {
    let page = read(&root().join("ARCHITECTURE.md"))?;
    let mut missing = Vec::new();
    for (place, text) in entries(&page) {
        let home = root().join("crates").join(&place);
        if !home.exists() {
            continue;
        }
        for path in quoted(text).into_iter().filter(|path| is_path(path)) {
            let near = [home.join("src").join(path), home.join(path)];
            let exists = near.iter().any(|path| path.exists()) || root().join(path).exists();
            if !exists {
                missing.push(format!("{place}: {path}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md names files that are not there:\n  {}",
        missing.join("\n  ")
    );
    Ok(())
}

#[test]
fn paths_below_crates_exist() -> Result<()> {
    let mut missing = Vec::new();
    for file in files("md")? {
        let text = read(&file)?;
        if shown(&file) == OLD_NAMES {
            continue;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let paths = quoted(&text)
            .into_iter()
            .filter(|path| path.chars().all(plain));
        for path in paths.filter(|path| path.starts_with("crates/")) {
            if !root().join(path).exists() {
                missing.push(format!("{}: {path}", shown(&file)));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "these pages name paths that are not there:\n  {}",
        missing.join("\n  ")
    );
    Ok(())
}

#[test]
fn entries_and_paths_are_found() {
    let page = "# Map\n\n### `crates/base`\n\n**`model`**: `ids.rs`, `plan/`, `{a,b}.rs`.\n\n\
                **`vars`**: text.\n\n### `crates/cli`\n\n**`airside`**: text.\n\n\
                ## More\n\n**`no`**: x.\n";
    let entries = entries(page);
    let places: Vec<&str> = entries.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["base/model", "base/vars", "cli/airside"]);
    let paths: Vec<&str> = quoted(entries[0].1)
        .into_iter()
        .filter(|path| is_path(path))
        .collect();
    assert_eq!(paths, ["ids.rs", "plan/"]);
    assert!(root().join(Path::new("crates")).exists());
}
