//! Brings the submodules along.

use std::{io::Write, path::Path};

use super::{
    Git,
    settings::{InParams, Submodules},
};
use crate::{Failure, log::say};

pub(super) fn update(
    git: &mut Git,
    params: &InParams,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    if params.submodules == Submodules::None || !dest.join(".gitmodules").is_file() {
        return Ok(());
    }
    let mut args = vec!["submodule", "update", "--init"];
    if params.submodule_remote {
        args.push("--remote");
    }
    if params.submodule_recursive.unwrap_or(true) {
        args.push("--recursive");
    }
    for module in modules(git, dest)? {
        if !is_wanted(&params.submodules, &module.path) {
            continue;
        }
        if !dest.join(&module.path).exists() {
            say(
                log,
                &format!("skipping the submodule {}: it is not there", module.path),
            );
            continue;
        }
        let credentials = &git.access().submodule_credentials;
        let own = credentials
            .iter()
            .find(|given| given.url.as_ref() == Some(&module.url));
        let own = own.and_then(|given| {
            Some((
                given.private_key.clone()?,
                given.private_key_passphrase.clone(),
            ))
        });
        if let Some((key, passphrase)) = &own {
            git.use_key(Some((key, passphrase.as_deref())))?;
        }
        one(git, &args, &module.path, params.depth, dest, log)?;
        if own.is_some() {
            git.use_key(None)?;
        }
    }
    Ok(())
}

/// A server need not hand out a commit that its branches do not end in; then all of them are
/// fetched.
fn one(
    git: &Git,
    args: &[&str],
    path: &str,
    depth: Option<u32>,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(depth) = depth.filter(|depth| *depth > 0) {
        let depth = depth.to_string();
        let shallow = [args, &["--depth", &depth, "--", path]].concat();
        if git.attempt(dest, &shallow, b"", log)?.ok {
            return Ok(());
        }
        say(log, &format!("fetching all of the submodule {path}"));
    }
    git.run(dest, &[args, &["--", path]].concat(), log)
}

struct Module {
    path: String,
    url: String,
}

fn modules(git: &Git, dest: &Path) -> Result<Vec<Module>, Failure> {
    let get = |args: &[&str]| {
        let args = [&["config", "--file", ".gitmodules"], args].concat();
        git.ask(dest, &args)
    };
    let names = get(&["--name-only", "--get-regexp", r"\.path$"])?.unwrap_or_default();
    let mut found = Vec::new();
    for key in names.lines() {
        let Some(name) = key.strip_suffix(".path") else {
            continue;
        };
        let path = get(&["--get", key])?.unwrap_or_default();
        let url = get(&["--get", &format!("{name}.url")])?.unwrap_or_default();
        found.push(Module { path, url });
    }
    Ok(found)
}

/// A list names paths, or ends of them.
fn is_wanted(wanted: &Submodules, path: &str) -> bool {
    let is = |named: &String| {
        let named = named.trim_matches('/');
        path == named || path.ends_with(&format!("/{named}"))
    };
    match wanted {
        Submodules::All => true,
        Submodules::None => false,
        Submodules::These(paths) => paths.iter().any(is),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_whole_parts_of_paths() {
        let these = Submodules::These(vec!["lib".to_owned(), "a/b/".to_owned()]);
        for (path, wanted) in [
            ("lib", true),
            ("x/lib", true),
            ("mylib", false),
            ("a/b", true),
        ] {
            assert_eq!(is_wanted(&these, path), wanted, "{path}");
        }
        assert!(is_wanted(&Submodules::All, "x") && !is_wanted(&Submodules::None, "x"));
    }
}
