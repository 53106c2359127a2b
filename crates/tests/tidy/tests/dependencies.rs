//! Every dependency that a manifest declares is used, and every entry of the workspace has a user.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use std::collections::{BTreeMap, BTreeSet};

use airside_tidy::{files, packages, read, root};

/// Dependencies whose name no source file has: `(crate, dependency, reason)`.
const UNNAMED: &[(&str, &str, &str)] = &[];

/// True if `text` has the name of a library as a word of its own.
fn names(text: &str, library: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(library).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + library.len()..].chars().next();
        !before.is_some_and(in_name) && !after.is_some_and(in_name)
    })
}

#[test]
fn every_dependency_is_used() {
    let sources: Vec<(String, String)> = files("rs")
        .unwrap()
        .iter()
        .map(|path| (airside_tidy::shown(path), read(path).unwrap()))
        .collect();
    let mut unused = Vec::new();
    for package in packages().unwrap().values() {
        let folder = format!("crates/{}/", package.place);
        let own: Vec<&(String, String)> = sources
            .iter()
            .filter(|(path, _)| path.starts_with(&folder))
            .collect();
        for (dependency, is_test) in &package.declared {
            let library = dependency.replace('-', "_");
            let is_used = own.iter().any(|(path, text)| {
                let counts = *is_test
                    || path[folder.len()..].starts_with("src/")
                    || path.ends_with("build.rs");
                counts && names(text, &library)
            });
            let is_listed = UNNAMED
                .iter()
                .any(|(user, used, _)| *user == package.place && used == dependency);
            if !is_used && !is_listed {
                unused.push(format!("{}: {dependency}", package.place));
            }
        }
    }
    assert!(
        unused.is_empty(),
        "no source file names these; take them out of the manifests:\n  {}",
        unused.join("\n  ")
    );
}

#[test]
fn every_entry_of_the_workspace_has_a_user() {
    let manifest = read(&root().join("Cargo.toml")).unwrap();
    let table = manifest
        .split("[workspace.dependencies]\n")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .unwrap();
    let used: BTreeSet<String> = packages()
        .unwrap()
        .values()
        .flat_map(|package| package.declared.iter().map(|(name, _)| name.clone()))
        .collect();
    let dead: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('#') && !used.contains(*name))
        .collect();
    assert!(dead.is_empty(), "no crate uses these: {dead:?}");
}

/// The names of a lock file's packages that it has in several versions, with the number of
/// versions.
fn doubled(lock: &str) -> BTreeMap<&str, usize> {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in lock.lines().filter_map(|line| line.strip_prefix("name = ")) {
        *versions.entry(name.trim_matches('"')).or_default() += 1;
    }
    versions.retain(|_, count| *count > 1);
    versions
}

#[test]
fn every_doubled_version_has_a_reason() {
    let lock = read(&root().join("Cargo.lock")).unwrap();
    let rules = read(&root().join("deny.toml")).unwrap();
    let list = rules.split("\nskip = [").nth(1).unwrap();
    let list = list.split("\n]").next().unwrap();
    let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in list
        .lines()
        .filter_map(|line| line.split("crate = \"").nth(1))
    {
        *excused.entry(entry.split('@').next().unwrap()).or_default() += 1;
    }
    let expected: BTreeMap<&str, usize> = doubled(&lock)
        .into_iter()
        .map(|(name, count)| (name, count - 1))
        .collect();
    assert_eq!(
        excused, expected,
        "`skip` of deny.toml (left) names all but one version of each doubled library (right)"
    );
}

#[test]
fn names_are_found_as_words() {
    assert!(names("use tokio_stream::X;", "tokio_stream"));
    assert!(!names("use tokio_stream::X;", "tokio"));
    assert!(!names("fn my_hex() {}", "hex"));
}
