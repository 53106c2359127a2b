//! Every task is started by `airside-tasks`, so that no panic is lost.

use airside_tidy::{crate_of, files, product, read, shown};

/// Crates that start tasks in their own way, each with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("base/tasks", "it is the one place that starts tasks"),
    (
        "runtime/shim",
        "its build ends the process at a panic, and with it the one step that it is for",
    ),
    ("tests/conformance", "it only tests"),
    ("tests/scenarios", "it only tests"),
    ("tests/tidy", "it only tests"),
];

/// Calls that start a task whose panic ends up nowhere.
const BARE: [&str; 5] = [
    "tokio::spawn(",
    "task::spawn(",
    "spawn_blocking(",
    "spawn_local(",
    "use tokio::spawn",
];

/// Beginnings of what a method `spawn` may be given: a future that has a name, or a closure for a
/// thread.
const NAMED: [&str; 5] = ["airside_tasks::named(", "named(", "move |", "|", ")"];

/// Receivers whose method `spawn` is our own, and starts no task by itself.
const OWN: [&str; 2] = ["self", "Self"];

/// The lines of a source file that start a task by other means.
fn bare_spawns(text: &str) -> Vec<usize> {
    let text = product(text);
    let bare = BARE.iter().flat_map(|call| text.match_indices(call));
    let methods = text.match_indices(".spawn(").filter(|(at, call)| {
        let given = text[at + call.len()..].trim_start();
        let is_named = NAMED.iter().any(|begin| given.starts_with(begin));
        let is_own = OWN.iter().any(|own| text[..*at].ends_with(own));
        !is_named && !is_own
    });
    let mut lines: Vec<usize> = bare
        .chain(methods)
        .map(|(at, _)| text[..at].lines().count())
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

#[test]
fn every_task_has_a_name() {
    let mut bare = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        let Some(name) = crate_of(&place) else {
            continue;
        };
        if EXEMPT.iter().any(|(exempt, _)| *exempt == name) {
            continue;
        }
        let lines = bare_spawns(&read(&path).unwrap());
        bare.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        bare.is_empty(),
        "start these with airside_tasks::{{spawn, named, blocking, restart or supervise}}:\n  {}",
        bare.join("\n  ")
    );
}

#[test]
fn bare_spawns_are_found() {
    let text = "fn a() {\n    tokio::spawn(x);\n    tasks.spawn(\n        async move {});\n}\n";
    assert_eq!(bare_spawns(text), [2, 3]);
    let text = "fn a() {\n    tasks.spawn(airside_tasks::named(\"x\", y));\n    command.spawn()?;\n    scope.spawn(move || 1);\n}\n";
    assert!(bare_spawns(text).is_empty());
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    tokio::spawn(x);\n}\n";
    assert!(bare_spawns(text).is_empty());
    assert_eq!(
        crate_of("crates/server/hub/src/server.rs"),
        Some("server/hub")
    );
    assert_eq!(crate_of("crates/server/hub/src/server/tests.rs"), None);
    assert_eq!(crate_of("crates/server/hub/tests/server.rs"), None);
}
