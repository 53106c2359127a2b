//! Dependencies point one way. A crate may use only crates of lower layers, and each of a few heavy
//! libraries belongs to one crate alone, so that the rest of the tree cannot come to know it.

use std::collections::BTreeMap;

use airside_tidy::{Package, packages, short};

/// The layer of every crate. A new crate gets a line here.
const LAYERS: &[(&str, u32)] = &[
    ("confine", 0),
    ("model", 0),
    ("tasks", 0),
    ("metrics", 1),
    ("traces", 1),
    ("image-sets", 1),
    ("yaml", 1),
    ("vars", 1),
    ("outbound", 1),
    ("places", 1),
    ("aws", 1),
    ("protocol", 1),
    ("runtime", 1),
    ("sandbox", 1),
    ("tree", 1),
    ("config", 2),
    ("scheduler", 2),
    ("resources", 2),
    ("secrets", 2),
    ("store", 2),
    ("logs", 2),
    ("volumes", 2),
    ("images", 2),
    ("registry", 3),
    ("node", 3),
    ("own-certs", 3),
    ("image-operator", 4),
    ("image-admission", 4),
    ("mirror", 2),
    ("runtime-local", 3),
    ("runtime-kube", 3),
    ("hub", 3),
    ("auth", 3),
    ("shim", 3),
    ("checker", 3),
    ("scheduling", 3),
    ("collector", 3),
    ("agent", 4),
    ("connectors", 4),
    ("credentials", 4),
    ("orchestrator", 4),
    ("engine", 5),
    ("checks", 6),
    ("api", 6),
    ("cli", 7),
];

/// Crates that only test, and may use everything.
const TESTS: &[&str] = &["conformance", "scenarios", "tidy"];

/// Crates nobody may depend on: binaries.
const LEAVES: &[&str] = &["shim", "cli"];

/// `(user, used, why)`: a dependency within a layer that is there on purpose.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "scheduler",
        "config",
        "a graph is read from a pipeline's configuration",
    ),
    ("aws", "outbound", "what it signs are requests"),
    (
        "images",
        "resources",
        "images of registries are pulled by the resource type for them",
    ),
    (
        "images",
        "volumes",
        "how full the disk may become is one rule for images and volumes",
    ),
];

/// `(library, owners)`: nobody else may name it.
const OWNED: &[(&str, &[&str])] = &[
    (
        "kube",
        &[
            "runtime-kube",
            "image-sets",
            "image-admission",
            "image-operator",
            "mirror",
            "node",
            "own-certs",
        ],
    ),
    ("sqlx", &["store"]),
    ("axum", &["api"]),
    ("libcontainer", &["runtime-local"]),
];

fn layer(name: &str) -> Option<u32> {
    LAYERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, layer)| *layer)
}

fn is_exception(user: &str, used: &str) -> bool {
    EXCEPTIONS.iter().any(|(a, b, _)| *a == user && *b == used)
}

/// What is wrong with one crate's dependencies.
fn complaints(name: &str, package: &Package, all: &BTreeMap<String, Package>) -> Vec<String> {
    let mut wrong = Vec::new();
    let own = layer(name);
    if own.is_none() {
        wrong.push(format!("{name} has no layer; give it one in LAYERS"));
    }
    for used in package.dependencies.iter().map(|full| short(full)) {
        let owners = OWNED
            .iter()
            .find(|(library, _)| *library == used)
            .map(|(_, owners)| *owners);
        if let Some(owners) = owners.filter(|owners| !owners.contains(&name)) {
            wrong.push(format!(
                "{name} uses {used}, which belongs to {} alone",
                owners.join(" and ")
            ));
        }
        if !all.contains_key(used) {
            continue;
        }
        if LEAVES.contains(&used) || TESTS.contains(&used) {
            wrong.push(format!("{name} uses {used}, which nobody may use"));
        }
        if layer(used) >= own && !is_exception(name, used) {
            wrong.push(format!(
                "{name} (layer {own:?}) uses {used} (layer {:?})",
                layer(used)
            ));
        }
    }
    wrong
}

#[test]
fn crates_use_only_lower_layers() {
    let all = packages().unwrap();
    let wrong: Vec<String> = all
        .iter()
        .filter(|(name, _)| !TESTS.contains(&name.as_str()))
        .flat_map(|(name, package)| complaints(name, package, &all))
        .collect();
    assert!(
        wrong.is_empty(),
        "layers are broken:\n  {}",
        wrong.join("\n  ")
    );
}

#[test]
fn the_tables_name_only_crates_that_exist() {
    let all = packages().unwrap();
    let named = LAYERS.iter().map(|(name, _)| *name);
    let excepted = EXCEPTIONS.iter().flat_map(|(user, used, _)| [*user, *used]);
    let stale: Vec<&str> = named
        .chain(excepted)
        .filter(|name| !all.contains_key(*name))
        .collect();
    assert!(stale.is_empty(), "no such crate: {stale:?}");
}

#[test]
fn a_dependency_on_the_same_or_a_higher_layer_is_found() {
    let package = |dependencies: &[&str]| Package {
        description: None,
        roots: Vec::new(),
        dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
    };
    let all = BTreeMap::from([
        (
            "store".to_owned(),
            package(&["airside-model", "airside-logs", "airside-engine", "axum"]),
        ),
        ("model".to_owned(), package(&[])),
        ("logs".to_owned(), package(&[])),
        ("engine".to_owned(), package(&[])),
    ]);
    let wrong = complaints("store", &all["store"], &all);
    assert_eq!(wrong.len(), 3, "{wrong:#?}");
    assert_eq!(complaints("newcomer", &package(&[]), &all).len(), 1);
}
