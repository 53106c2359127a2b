//! `version_type: branches`: a version is the list of branches that the repository has, and a get
//! writes it down.

use std::{fs, io::Write, path::Path};

use airside_model::{MetadataField, Version, chain};

use super::{Git, settings::Source, tags::whole};
use crate::{Failure, Produced};

/// The name of the list in a version.
const BRANCHES: &str = "branches";

/// The file that a get leaves, for `load_var`.
const FILE: &str = "branches.json";

/// A version is kept in a database and shown to people, so a list has an end.
const MOST_BYTES: usize = 64 << 10;

/// Lists the branches of the remote that the source asks for, as one version.
pub(super) fn versions(
    git: &Git,
    source: &Source,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    let filters = source.branch_filters.iter();
    let patterns: Vec<String> = filters
        .map(|filter| format!("refs/heads/{filter}"))
        .collect();
    let mut args = vec!["ls-remote", "--heads", "--", git.uri()];
    args.extend(patterns.iter().map(String::as_str));
    let answer = git.read(Path::new("/"), &args, log)?;
    let regex = whole("branch_regex", source.branch_regex.as_deref())?;
    let is_wanted = |name: &&str| regex.as_ref().is_none_or(|regex| regex.is_match(name));
    let names = answer.lines().filter_map(|line| line.split_once('\t'));
    let names = names.filter_map(|(_, name)| name.strip_prefix("refs/heads/"));
    let mut names: Vec<&str> = names.filter(is_wanted).collect();
    names.sort_unstable();
    let list = serde_json::to_string(&names).map_err(Failure::Request)?;
    if list.len() > MOST_BYTES {
        let words = format!(
            "lets {} branches pass, too many for one version: choose fewer",
            names.len()
        );
        return Err(Failure::source("branch_filters", words));
    }
    Ok(vec![Version::from([(BRANCHES, list)])])
}

/// Writes the list of a version to `branches.json`.
pub(super) fn fetch(version: Version, dest: &Path) -> Result<Produced, Failure> {
    let list = version.0.get(BRANCHES).map_or("", String::as_str);
    let names: Vec<String> = serde_json::from_str(list).map_err(|error| {
        Failure::said(format!(
            "version.{BRANCHES} is not a list of branches: {}",
            chain(&error)
        ))
    })?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    let path = dest.join(FILE);
    fs::write(&path, format!("{list}\n")).map_err(Failure::io(&path))?;
    let metadata = vec![MetadataField {
        name: BRANCHES.to_owned(),
        value: names.join(", "),
    }];
    Ok(Produced { version, metadata })
}
