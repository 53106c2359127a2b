//! Helpers of the tidy tests: they find the tree's files and ask Cargo about its crates.
//!
//! The rules themselves are in `tests/`, one file per kind of rule. Nothing depends on this crate.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Directories that hold nothing of ours.
const FOREIGN: [&str; 3] = [".git", "target", "node_modules"];

/// The top of the tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// Every file of the tree whose name ends in `.extension`, sorted.
pub fn files(extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(&root(), extension, &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(dir: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        let path = entry.path();
        let foreign = FOREIGN.iter().any(|name| entry.file_name() == *name);
        if entry.file_type()?.is_dir() {
            if !foreign {
                walk(&path, extension, found)?;
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    Ok(())
}

/// A file's text, with the path in the error.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A path as a reader of the tree would write it.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The part of a source file that is not a test.
pub fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// The crate whose sources hold the file, as `folder/crate`; none if the file is a test.
pub fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = |part: &str| matches!(part, "tests" | "testing" | "tests.rs" | "testing.rs");
    (!Path::new(file)
        .iter()
        .filter_map(|part| part.to_str())
        .any(is_test))
    .then_some(name)
}

/// One crate of the workspace, as Cargo describes it.
#[derive(Debug)]
pub struct Package {
    /// The crate's folder under `crates`, such as `server/api`.
    pub place: String,
    pub description: Option<String>,
    /// The root files of its library and binaries.
    pub roots: Vec<PathBuf>,
    /// Dependencies that the build needs, by package name. Those of tests are left out, since tests
    /// may use every crate.
    pub dependencies: Vec<String>,
    /// Every dependency that its manifest declares, and true if only its tests need it.
    pub declared: Vec<(String, bool)>,
}

/// The workspace's crates by name, without the product's prefix.
pub fn packages() -> Result<BTreeMap<String, Package>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .context("cannot run cargo metadata")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "cargo metadata failed: {complaint}"
    );
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    array(&metadata["packages"])
        .map(|package| {
            let name = package["name"].as_str().context("a package has no name")?;
            Ok((short(name).to_owned(), describe(package)))
        })
        .collect()
}

/// A crate's name without the product's prefix.
pub fn short(name: &str) -> &str {
    name.strip_prefix("airside-").unwrap_or(name)
}

fn describe(package: &Value) -> Package {
    let is_root = |target: &&Value| {
        array(&target["kind"])
            .any(|kind| matches!(kind.as_str(), Some("lib" | "bin" | "proc-macro")))
    };
    let needed = |dependency: &&Value| dependency["kind"] != "dev";
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    Package {
        place: place(Path::new(manifest)),
        description: package["description"].as_str().map(str::to_owned),
        roots: array(&package["targets"])
            .filter(is_root)
            .filter_map(|target| target["src_path"].as_str())
            .map(PathBuf::from)
            .collect(),
        dependencies: array(&package["dependencies"])
            .filter(needed)
            .filter_map(|dependency| dependency["name"].as_str())
            .map(str::to_owned)
            .collect(),
        declared: array(&package["dependencies"])
            .filter_map(|dependency| {
                let name = dependency["rename"]
                    .as_str()
                    .or_else(|| dependency["name"].as_str())?;
                Some((name.to_owned(), dependency["kind"] == "dev"))
            })
            .collect(),
    }
}

/// The folder of a crate under `crates`, from the path of its manifest.
fn place(manifest: &Path) -> String {
    let folder = manifest.parent().unwrap_or(manifest);
    let crates = root().join("crates");
    folder
        .strip_prefix(crates)
        .unwrap_or(folder)
        .display()
        .to_string()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
