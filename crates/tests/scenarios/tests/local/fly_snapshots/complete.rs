//! Every command of fly has a line in some snapshot.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use airside_scenarios::Environment;

/// The names of commands, from fly's own help.
fn commands() -> BTreeSet<String> {
    let help = Command::new(Environment::get().fly).arg("--help").output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    let (_, list) = help.split_once("Available commands:").unwrap();
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// The words after `fly` on the command lines of the snapshots.
fn tried() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut tried = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            for after in line.split("fly ").skip(1) {
                tried.extend(command(after));
            }
        }
    }
    tried
}

/// The command of a line, behind options that concern all of fly.
fn command(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    loop {
        match words.next()? {
            "-t" => drop(words.next()),
            option if option.starts_with('-') => {}
            word => return Some(word.to_owned()),
        }
    }
}

#[test]
fn every_command_of_fly_has_a_snapshot() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let commands = commands();
    assert_eq!(commands.len(), 68, "{commands:?}");
    let tried = tried();
    let missing: Vec<_> = commands.difference(&tried).collect();
    assert!(missing.is_empty(), "no snapshot has {missing:?}");
}

#[test]
fn the_command_of_a_line_is_found_behind_options() {
    for (line, expected) in [
        (
            "-t main --print-table-headers workers | cat",
            Some("workers"),
        ),
        ("help", Some("help")),
        ("-t main", None),
    ] {
        assert_eq!(command(line).as_deref(), expected, "{line}");
    }
}
