//! Versions by tags: the tagged commits themselves, or those that lead to one.

use std::{collections::HashSet, io::Write};

use airside_model::{Version, chain};
use regex_lite::Regex;

use super::{
    check::{BranchHistory, commit},
    settings::TagBehaviour,
};
use crate::Failure;

pub(super) struct Tag {
    pub(super) name: String,
    pub(super) commit: String,
}

/// Compiles an expression of the source that a whole name must match.
pub(super) fn whole(key: &str, text: Option<&str>) -> Result<Option<Regex>, Failure> {
    let compile = |text| Regex::new(&format!("^(?:{text})$"));
    text.map(compile).transpose().map_err(|error| {
        Failure::source(
            key,
            format!("must be a regular expression: {}", chain(&error)),
        )
    })
}

pub(super) fn versions(
    look: &BranchHistory<'_>,
    from: Option<&str>,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    let from = match from {
        Some(from) if is_there(look, from)? => Some(from),
        _ => None,
    };
    let tags = matching(look, from, log)?;
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let until = match from {
        Some(from) => look.parent(from)?,
        None => None,
    };
    let passing = look.passing("--all", until.as_deref(), log)?;
    let mut versions = match look.source.tag_behaviour {
        TagBehaviour::MatchTagged => {
            let passing: HashSet<&String> = passing.iter().collect();
            tags.iter()
                .filter(|tag| passing.contains(&tag.commit))
                .map(Tag::version)
                .collect::<Vec<_>>()
        }
        TagBehaviour::MatchTagAncestors => {
            let commits: Vec<String> = tags.into_iter().map(|tag| tag.commit).collect();
            let leading = look.ancestors(&commits, log)?;
            let oldest_first = passing.iter().rev();
            oldest_first
                .filter(|hash| leading.contains(*hash))
                .map(|hash| commit(hash))
                .collect()
        }
    };
    let surplus = versions.len().saturating_sub(look.depth());
    Ok(versions.split_off(surplus))
}

impl Tag {
    pub(super) fn version(&self) -> Version {
        Version::from([("ref", &self.name), ("commit", &self.commit)])
    }
}

fn is_there(look: &BranchHistory<'_>, name: &str) -> Result<bool, Failure> {
    let name = format!("{name}^{{commit}}");
    let args = ["rev-parse", "--verify", "--quiet", &name];
    Ok(look.git.ask(look.dir, &args)?.is_some())
}

/// The tags of the branch that the source asks for, oldest first.
fn matching(
    look: &BranchHistory<'_>,
    from: Option<&str>,
    log: &mut dyn Write,
) -> Result<Vec<Tag>, Failure> {
    let branch = look.source.branch.as_deref();
    let mut args = vec![
        "tag",
        "--sort=creatordate",
        "--format=%(objectname) %(*objectname) %(refname:strip=2)",
    ];
    if let (Some(_), Some(from)) = (branch, from) {
        args.extend(["--contains", from]);
    }
    if let Some(branch) = branch {
        args.extend(["--merged", branch]);
    }
    args.push("--list");
    args.extend(look.source.tag_filter.as_deref());
    let answer = look.git.read(look.dir, &args, log)?;
    let regex = whole("tag_regex", look.source.tag_regex.as_deref())?;
    let mut tags: Vec<Tag> = answer
        .lines()
        .filter_map(tag)
        .filter(|tag| regex.as_ref().is_none_or(|regex| regex.is_match(&tag.name)))
        .collect();
    // Without a branch, what comes after a tag is what was made after it.
    if let (None, Some(from)) = (branch, from)
        && let Some(place) = tags.iter().position(|tag| tag.name == from)
    {
        tags.drain(..place);
    }
    Ok(tags)
}

/// Reads `object commit name`, where a tag that is not an object of its own has no second word.
pub(super) fn tag(line: &str) -> Option<Tag> {
    let mut words = line.splitn(3, ' ');
    let (object, target, name) = (words.next()?, words.next()?, words.next()?);
    let commit = if target.is_empty() { object } else { target };
    Some(Tag {
        name: name.to_owned(),
        commit: commit.to_owned(),
    })
}
