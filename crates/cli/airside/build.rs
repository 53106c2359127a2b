//! Gives the command the commit that it is built from, as `AIRSIDE_COMMIT`: of git, or as the
//! variable of that name says where the sources are not a clone. Only this crate is compiled again
//! for a new commit.

#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::{path::Path, process::Command};

/// Digits of a commit's name that are shown.
const DIGITS: &str = "--short=12";

fn main() {
    println!("cargo::rerun-if-env-changed=AIRSIDE_COMMIT");
    let given = std::env::var("AIRSIDE_COMMIT").ok();
    let commit = given.filter(|it| !it.is_empty()).or_else(of_git);
    println!(
        "cargo::rustc-env=AIRSIDE_COMMIT={}",
        commit.unwrap_or_default()
    );
}

/// Returns the commit of the clone, if this is one. Sources below another project's clone are not.
fn of_git() -> Option<String> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    if !tree.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(tree)
            .args(arguments)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_owned())
    };
    // Both change with every commit and checkout, and with nothing else.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", DIGITS, "HEAD"])
}
