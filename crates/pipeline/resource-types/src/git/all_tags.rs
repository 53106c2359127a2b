//! `version_type: tags`: each tag of the repository is a version, on whatever branch it is.

use std::{collections::HashMap, io::Write, path::Path};

use airside_model::Version;

use super::{
    Git,
    mirror::Mirror,
    settings::{Source, TagSort},
    tags::{Tag, tag, whole},
};
use crate::{Failure, log::say};

/// The number of tags that a check answers with where the source gives no `version_depth`.
const MOST_TAGS: usize = 1000;

/// Lists all matching tags, oldest first. A tag may appear behind others at any time, so the
/// version that a check is given does not shorten the list.
pub(super) fn versions(
    git: &Git,
    source: &Source,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    let regex = whole("tag_regex", source.tag_regex.as_deref())?;
    let mut tags = match source.tag_sort {
        TagSort::Creatordate => by_date(git, source, log)?,
        TagSort::Version => by_name(git, source, "version:refname", log)?,
        TagSort::Refname => by_name(git, source, "refname", log)?,
    };
    tags.retain(|tag| regex.as_ref().is_none_or(|regex| regex.is_match(&tag.name)));
    let most = source
        .version_depth
        .map_or(MOST_TAGS, |depth| depth as usize);
    let surplus = tags.len().saturating_sub(most);
    if surplus > 0 && source.version_depth.is_none() {
        let words = format!("{surplus} older tags are left out; set version_depth for more");
        say(log, &words);
    }
    Ok(tags[surplus..].iter().map(Tag::version).collect())
}

/// Asks the remote for names alone, without a clone.
fn by_name(
    git: &Git,
    source: &Source,
    key: &str,
    log: &mut dyn Write,
) -> Result<Vec<Tag>, Failure> {
    let sort = format!("--sort={key}");
    let pattern = source.tag_filter.as_deref();
    let pattern = pattern.map(|filter| format!("refs/tags/{filter}"));
    let mut args = vec!["ls-remote", "--tags", &sort, "--", git.uri()];
    args.extend(pattern.as_deref());
    // A pattern leaves out the commits of annotated tags, which have a name of their own.
    let peeled = pattern.as_ref().map(|pattern| format!("{pattern}^{{}}"));
    args.extend(peeled.as_deref());
    let answer = git.read(Path::new("/"), &args, log)?;
    Ok(named(&answer))
}

/// Reads lines of `git ls-remote --tags`. An annotated tag has two, and the one that ends in `^{}`
/// has the commit.
fn named(answer: &str) -> Vec<Tag> {
    let pairs = || {
        let pairs = answer.lines().filter_map(|line| line.split_once('\t'));
        pairs.filter_map(|(hash, name)| Some((name.strip_prefix("refs/tags/")?, hash)))
    };
    let commits: HashMap<&str, &str> = pairs()
        .filter_map(|(name, hash)| Some((name.strip_suffix("^{}")?, hash)))
        .collect();
    pairs()
        .filter(|(name, _)| !name.ends_with("^{}"))
        .map(|(name, hash)| Tag {
            name: name.to_owned(),
            commit: (*commits.get(name).unwrap_or(&hash)).to_owned(),
        })
        .collect()
}

/// Clones commits and tags, which know when they were made.
fn by_date(git: &Git, source: &Source, log: &mut dyn Write) -> Result<Vec<Tag>, Failure> {
    let mirror = Mirror::open(git, source, log)?;
    let mut args = vec![
        "tag",
        "--sort=creatordate",
        "--format=%(objectname) %(*objectname) %(refname:strip=2)",
        "--list",
    ];
    args.extend(source.tag_filter.as_deref());
    let answer = git.read(mirror.path(), &args, log)?;
    Ok(answer.lines().filter_map(tag).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotated_tags_have_the_commit_that_they_lead_to() {
        let answer = "1\trefs/tags/v1\n2\trefs/tags/v2\n9\trefs/tags/v2-a\n3\trefs/tags/v2^{}\n4\trefs/heads/v3\n";
        let found: Vec<_> = named(answer)
            .into_iter()
            .map(|tag| (tag.name, tag.commit))
            .collect();
        let tag = |name: &str, commit: &str| (name.to_owned(), commit.to_owned());
        assert_eq!(found, [tag("v1", "1"), tag("v2", "3"), tag("v2-a", "9")]);
    }
}
