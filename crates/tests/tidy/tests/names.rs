//! Names can be searched: a public type says of what it is, and so does a constant.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use std::collections::{BTreeMap, BTreeSet};

use airside_tidy::{crate_of, files, product, read, shown};

/// Words that are not a name for a type that other files use: a dozen types would have each of
/// them.
const BARE_TYPES: [&str; 24] = [
    "Answer", "Ask", "Asked", "Desk", "Ended", "Entry", "Found", "Heard", "Held", "House", "Kept",
    "Known", "Line", "Look", "Place", "Said", "Scope", "Seen", "Sight", "Told", "Verdict", "Want",
    "Wanted", "Written",
];

/// Words that are not a name for a constant.
const BARE_CONSTANTS: [&str; 8] = [
    "AGAIN", "LASTS", "LONGEST", "LOOK", "MOST", "PATIENCE", "SOON", "WAITS",
];

/// Names of one word that two crates may export, each with the reason.
const SHARED: &[(&str, &str)] = &[
    ("Artifact", "a step's, and its row"),
    (
        "Asker",
        "for a host, and for a secret: their crates never meet",
    ),
    ("Capabilities", "of a runtime, and of the kernel"),
    ("Checked", "by a process, and in a pass"),
    ("Client", "of HTTP for the async and for the blocking half"),
    (
        "Collector",
        "of garbage, and of traces: a protocol's own word",
    ),
    ("Container", "the store's row, and containerd's message"),
    ("Descriptor", "OCI's word, and containerd's message of it"),
    ("Digest", "OCI's word, and a tree's"),
    ("Disk", "of volumes, and of a node's images"),
    ("End", "of a shim, and of a redacted text"),
    ("Envelope", "of the log, and containerd's"),
    (
        "Error",
        "Rust's own custom: one per crate, named by its path",
    ),
    ("Event", "of a build, and of the scheduler"),
    (
        "Failure",
        "of a check process, and of a resource type in it",
    ),
    ("Grant", "of a token, and of a role"),
    (
        "Group",
        "of a pipeline, and of jobs that share a limit: Concourse's word",
    ),
    ("Hijack", "the hub's side and the message: Concourse's word"),
    ("Ids", "of a user namespace, and of names"),
    ("Job", "Concourse's word: configuration, row and graph"),
    ("Lease", "of a build, and of an image"),
    ("Limits", "of connections, and of an archive"),
    ("Manifest", "OCI's word, and Kubernetes' word"),
    ("Mirror", "the service, and its address"),
    (
        "Options",
        "Rust's own custom: one per crate, named by its path",
    ),
    (
        "Order",
        "for a shim, and of versions (Concourse's check order)",
    ),
    ("Part", "of a request, and of a graph"),
    ("Pin", "Concourse's word, and containerd's"),
    (
        "Plan",
        "of a build (Concourse's word), and of a node's images",
    ),
    ("Pool", "of addresses, and of secret managers"),
    ("Rate", "of the API server, and of a budget"),
    ("Reference", "OCI's word, and a variable's"),
    ("Registries", "of the mirror, and of a resource type"),
    ("Registry", "the server, and one that is mirrored"),
    ("Resource", "Concourse's word: configuration, row and graph"),
    (
        "Result",
        "Rust's own custom: one per crate, named by its path",
    ),
    ("Secret", "of a manager, and of a provider of identities"),
    (
        "Settings",
        "of the admission, and of a node's agent: never imported bare",
    ),
    ("Step", "Concourse's word, and one of a plan for images"),
    ("Target", "of a rule of the API, and of steps"),
    ("Tls", "of the API, and of a client"),
    ("Upstream", "of the registry, and of the mirror"),
    ("Version", "Concourse's word, and containerd's message"),
    ("View", "of pods, and of the scheduler"),
    (
        "Workers",
        "of the orchestrator, and what the collector asks of them",
    ),
];

/// The name of the type that a line exports from its crate, if it is one bare word.
fn exported_word(line: &str) -> Option<&str> {
    let name = line.starts_with("pub ").then(|| public_type(line))??;
    let capitals = name.chars().filter(char::is_ascii_uppercase).count();
    (capitals == 1).then_some(name)
}

/// The crates that export each bare word.
fn exported_words() -> BTreeMap<String, BTreeSet<String>> {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        let Some(owner) = crate_of(&place).filter(|name| !name.starts_with("tests/")) else {
            continue;
        };
        for word in product(&read(&path).unwrap())
            .lines()
            .filter_map(exported_word)
        {
            let owners = crates.entry(word.to_owned()).or_default();
            owners.insert(owner.to_owned());
        }
    }
    crates.retain(|_, owners| owners.len() > 1);
    crates
}

#[test]
fn two_crates_export_no_type_by_one_word() {
    let crates = exported_words();
    let listed = |word: &str| SHARED.iter().any(|(name, _)| *name == word);
    let shared: Vec<String> = crates
        .iter()
        .filter(|(word, _)| !listed(word))
        .map(|(word, owners)| format!("{word}: {owners:?}"))
        .collect();
    assert!(
        shared.is_empty(),
        "prefix these types by their subject:\n  {}",
        shared.join("\n  ")
    );
    let unused: Vec<&str> = SHARED
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !crates.contains_key(*name))
        .collect();
    assert!(unused.is_empty(), "no two crates export {unused:?}");
}

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
    assert_eq!(exported_word("pub enum Access {"), Some("Access"));
    assert_eq!(exported_word("pub(crate) enum Access {"), None);
    assert_eq!(exported_word("pub struct MountAccess {"), None);
}
