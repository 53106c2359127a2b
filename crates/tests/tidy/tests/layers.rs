//! Dependencies point one way: a crate uses its own folder and the folders above it, and each of a
//! few heavy libraries has its owners, so that the rest of the tree cannot come to know it.

use std::collections::BTreeMap;

use airside_tidy::{Package, packages, short};

/// The folders of `crates`, each with the folders that its crates may use beside their own.
const FOLDERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("pipeline", &["base"]),
    ("runtime", &["base", "pipeline"]),
    ("server", &["base", "pipeline", "runtime"]),
    ("images", &["base", "pipeline", "runtime"]),
    ("cli", &["base", "pipeline", "runtime", "server", "images"]),
    (
        "tests",
        &["base", "pipeline", "runtime", "server", "images", "cli"],
    ),
];

/// Dependencies against the order of folders: `(user, used, reason)`.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "runtime/kubernetes",
        "images/rules",
        "pods are placed by the same rules as other pods of the cluster",
    ),
    (
        "server/api",
        "images/registry",
        "the server's address is the registry's too",
    ),
    (
        "server/app",
        "images/registry",
        "the server opens the registry that its API serves",
    ),
];

/// Crates that are programs: no crate may use them.
const PROGRAMS: &[&str] = &["runtime/shim", "cli/airside"];

/// Heavy libraries, each with the crates that may use it. A folder stands for all of its crates.
const OWNED: &[(&str, &[&str])] = &[
    (
        "kube",
        &[
            "images",
            "base/clusters",
            "runtime/kubernetes",
            "server/control",
            "server/control-objects",
        ],
    ),
    ("sqlx", &["server/store"]),
    ("axum", &["server/api"]),
    ("libcontainer", &["runtime/local"]),
];

fn folder(place: &str) -> &str {
    place.split_once('/').map_or(place, |(folder, _)| folder)
}

fn may_use_folder(user: &str, used: &str) -> bool {
    let (own, other) = (folder(user), folder(used));
    own == other
        || FOLDERS
            .iter()
            .any(|(name, below)| *name == own && below.contains(&other))
        || EXCEPTIONS.iter().any(|(a, b, _)| *a == user && *b == used)
}

/// The rules that one crate's dependencies break, in words.
fn complaints(package: &Package, all: &BTreeMap<String, Package>) -> Vec<String> {
    let user = package.place.as_str();
    let mut wrong = Vec::new();
    if !FOLDERS.iter().any(|(name, _)| *name == folder(user)) {
        wrong.push(format!("{user} is in no folder of FOLDERS"));
    }
    for used in package.dependencies.iter().map(|full| short(full)) {
        let owners = OWNED.iter().find(|(library, _)| *library == used);
        let is_owner = |owner: &&str| *owner == user || *owner == folder(user);
        if let Some((_, owners)) = owners.filter(|(_, owners)| !owners.iter().any(is_owner)) {
            let owners = owners.join(" and ");
            wrong.push(format!("{user} uses {used}, which belongs to {owners}"));
        }
        let Some(used) = all.get(used).map(|used| used.place.as_str()) else {
            continue;
        };
        if PROGRAMS.contains(&used) {
            wrong.push(format!("{user} uses {used}, which is a program"));
        }
        if !may_use_folder(user, used) {
            wrong.push(format!("{user} uses {used}, against the order of folders"));
        }
    }
    wrong
}

#[test]
fn crates_use_only_the_folders_above_them() {
    let all = packages().unwrap();
    let wrong: Vec<String> = all
        .values()
        .filter(|package| folder(&package.place) != "tests")
        .flat_map(|package| complaints(package, &all))
        .collect();
    assert!(
        wrong.is_empty(),
        "dependencies point the wrong way:\n  {}",
        wrong.join("\n  ")
    );
}

#[test]
fn the_tables_name_only_what_exists() {
    let all = packages().unwrap();
    let places: Vec<&str> = all.values().map(|package| package.place.as_str()).collect();
    let excepted = EXCEPTIONS.iter().flat_map(|(user, used, _)| [*user, *used]);
    let owners = OWNED.iter().flat_map(|(_, owners)| owners.iter().copied());
    let stale: Vec<&str> = excepted
        .chain(owners)
        .chain(PROGRAMS.iter().copied())
        .filter(|name| {
            !places
                .iter()
                .any(|place| place == name || folder(place) == *name)
        })
        .collect();
    assert!(stale.is_empty(), "no such crate or folder: {stale:?}");
    let needless: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|(user, used, _)| {
            !all.values().any(|package| {
                let is_used =
                    |name: &String| all.get(short(name)).is_some_and(|p| p.place == *used);
                package.place == *user && package.dependencies.iter().any(is_used)
            })
        })
        .collect();
    assert!(needless.is_empty(), "no longer needed: {needless:?}");
}

#[test]
fn a_dependency_against_the_order_is_found() {
    let package = |place: &str, dependencies: &[&str]| Package {
        place: place.to_owned(),
        description: None,
        roots: Vec::new(),
        declared: Vec::new(),
        dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
    };
    let used = ["airside-model", "airside-logs", "airside-mirror", "axum"];
    let all = BTreeMap::from([
        ("store".to_owned(), package("server/store", &used)),
        (
            "model".to_owned(),
            package("base/model", &["airside-store"]),
        ),
        ("logs".to_owned(), package("server/logs", &[])),
        ("mirror".to_owned(), package("images/mirror", &["kube"])),
    ]);
    assert_eq!(complaints(&all["store"], &all).len(), 2);
    assert_eq!(complaints(&all["model"], &all).len(), 1);
    assert_eq!(complaints(&all["mirror"], &all).len(), 0);
    assert_eq!(complaints(&package("attic/x", &[]), &all).len(), 1);
}
