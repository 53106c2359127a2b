//! Each promise of `docs/security.md` names a test that exists.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::{collections::BTreeSet, path::Path};

use airside_tidy::{files, read, root, shown};
use anyhow::Result;

/// Returns the names in backquotes in the last cell of a row of the table of promises.
fn tests_of(row: &str) -> Vec<&str> {
    let cells: Vec<&str> = row.trim().trim_matches('|').split('|').collect();
    let [_, _, tests] = cells.as_slice() else {
        return Vec::new();
    };
    tests.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_promise_of_the_security_page_has_a_test() -> Result<()> {
    let page = read(&root().join("docs/security.md"))?;
    let table = page
        .split("## Promises and the tests that show them")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap_or_default();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| promise |"))
        .collect();
    assert!(rows.len() > 20, "the table of promises was not found");
    let mut known = BTreeSet::new();
    for path in files("rs")? {
        let text = read(&path)?;
        let functions = text.lines().filter_map(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let line = line.strip_prefix("async ").unwrap_or(line);
            line.strip_prefix("fn ")?.split(['(', '<']).next()
        });
        known.extend(functions.map(str::to_owned));
        if shown(&path).contains("/tests/") {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            known.extend(stem);
            // A file of a program of several, such as `cluster/claim.rs`.
            let file = path.iter().rev().take(2).collect::<Vec<_>>();
            known.extend(
                file.get(1)
                    .map(|folder| Path::new(folder).join(file[0]).display().to_string()),
            );
        }
    }
    let missing: Vec<&str> = rows
        .iter()
        .flat_map(|row| {
            let tests = tests_of(row);
            assert!(!tests.is_empty(), "no test in: {row}");
            tests
        })
        .filter(|test| !known.contains(*test))
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
    Ok(())
}
