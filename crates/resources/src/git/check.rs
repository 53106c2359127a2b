//! `check`: the commits, or tagged commits, since a version.

use std::{collections::HashSet, io::Write, path::Path};

use airside_model::Version;

use super::{
    Git,
    config::Purpose,
    mirror::Mirror,
    settings::{Source, plain},
    tags,
};
use crate::{CheckRequest, Failure, Part};

pub(crate) fn check(request: CheckRequest, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let mut source = Source::read(request.source)?;
    let git = Git::new(source.access(), Purpose::Check, log)?;
    let version = request.version.unwrap_or_default();
    let from = version.0.get("ref").map(String::as_str);
    plain(Part::Version, "ref", from.unwrap_or_default())?;
    if !source.wants_tags() {
        let tip = tip(&git, &mut source, log)?;
        let simple = source.disable_ci_skip
            && source.version_depth.unwrap_or(1) == 1
            && source.commit_filter.include.is_empty()
            && source.commit_filter.exclude.is_empty()
            && !source.limits_paths();
        // Nothing has happened, or nothing needs a look at the commits: no clone.
        if from == Some(tip.as_str()) || (from.is_none() && simple) {
            return Ok(vec![commit(&tip)]);
        }
    }
    let mirror = Mirror::open(&git, &source, log)?;
    let look = Look {
        git: &git,
        source: &source,
        dir: mirror.path(),
    };
    if source.wants_tags() {
        return tags::versions(&look, from, log);
    }
    look.commits(from, log)
}

pub(super) fn commit(hash: &str) -> Version {
    Version::from([("ref", hash)])
}

/// What the branch points at, without a clone. Where the source leaves the branch to the remote, it is
/// from now on the one that the remote chose.
fn tip(git: &Git, source: &mut Source, log: &mut dyn Write) -> Result<String, Failure> {
    let wanted = match &source.branch {
        Some(branch) => format!("refs/heads/{branch}"),
        None => "HEAD".to_owned(),
    };
    let args = ["ls-remote", "--symref", "--", git.uri(), wanted.as_str()];
    let answer = git.read(Path::new("/"), &args, log)?;
    let named = || {
        let pairs = answer.lines().filter_map(|line| line.split_once('\t'));
        pairs.filter(|(_, name)| *name == wanted)
    };
    let hash = named().find(|(value, _)| !value.starts_with("ref: "));
    match (hash, &source.branch) {
        (Some((hash, _)), Some(_)) => Ok(hash.to_owned()),
        (Some((hash, _)), None) => {
            let link = named().find_map(|(value, _)| value.strip_prefix("ref: refs/heads/"));
            source.branch = link.map(str::to_owned);
            Ok(hash.to_owned())
        }
        (None, Some(branch)) => Err(Failure::source(
            "branch",
            format!("is {branch:?}, which {} does not have", git.uri()),
        )),
        (None, None) => Err(Failure::said(format!("{} has no commits", git.uri()))),
    }
}

/// A look into a clone.
pub(super) struct Look<'a> {
    pub(super) git: &'a Git,
    pub(super) source: &'a Source,
    pub(super) dir: &'a Path,
}

impl Look<'_> {
    /// From the given commit on, or the latest ones if it is not there any more; oldest first.
    fn commits(&self, from: Option<&str>, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
        let since = match from {
            Some(from) if self.is_reachable(from, log)? => Some(from),
            _ => None,
        };
        let mut found = self.passing("HEAD", since, log)?;
        if since.is_none() {
            found.truncate(self.depth());
        }
        Ok(found.iter().rev().map(|hash| commit(hash)).collect())
    }

    pub(super) fn depth(&self) -> usize {
        self.source.version_depth.unwrap_or(1) as usize
    }

    /// Asks for all commits rather than for this one: of one that is missing, git would ask the remote.
    fn is_reachable(&self, hash: &str, log: &mut dyn Write) -> Result<bool, Failure> {
        let all = self.git.read(self.dir, &["rev-list", "HEAD"], log)?;
        Ok(all.lines().any(|line| line == hash))
    }

    /// The commits that pass every filter, newest first, beginning where `since` is.
    pub(super) fn passing(
        &self,
        tip: &str,
        since: Option<&str>,
        log: &mut dyn Write,
    ) -> Result<Vec<String>, Failure> {
        let mut args = vec!["rev-list", "--first-parent", tip];
        let parent = since.map(|since| format!("{since}~1"));
        if let Some(parent) = &parent
            && self.has(parent)?
        {
            args.extend(["--not", parent]);
        }
        let ignored: Vec<String> = self.ignored();
        if self.source.limits_paths() {
            args.push("--");
            args.extend(self.source.paths.iter().map(String::as_str));
            // Without one that takes, those that leave out would leave out of nothing.
            if self.source.paths.is_empty() {
                args.push(".");
            }
            args.extend(ignored.iter().map(String::as_str));
        }
        let list = self.git.read(self.dir, &args, log)?;
        let list = self.by_message(list, log)?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    fn ignored(&self) -> Vec<String> {
        let ignored = self.source.ignore_paths.iter();
        ignored.map(|path| format!(":!{path}")).collect()
    }

    fn has(&self, name: &str) -> Result<bool, Failure> {
        let args = ["rev-parse", "--verify", "--quiet", name];
        Ok(self.git.ask(self.dir, &args)?.is_some())
    }

    fn by_message(&self, list: String, log: &mut dyn Write) -> Result<String, Failure> {
        let filter = &self.source.commit_filter;
        let mut left = match filter.include.is_empty() {
            true => list,
            false => self.grep(&list, &filter.include, filter.include_all_match, log)?,
        };
        let skipped = match self.source.disable_ci_skip {
            true => vec![],
            false => vec![r"\[ci[[:space:]]skip\]", r"\[skip[[:space:]]ci\]"],
        };
        let skipped: Vec<String> = skipped.into_iter().map(str::to_owned).collect();
        for (patterns, all) in [
            (&filter.exclude, filter.exclude_all_match),
            (&skipped, false),
        ] {
            if !patterns.is_empty() {
                let excluded = self.grep(&left, patterns, all, log)?;
                let excluded: HashSet<&str> = excluded.lines().collect();
                let kept = left.lines().filter(|hash| !excluded.contains(hash));
                left = kept.collect::<Vec<_>>().join("\n");
            }
        }
        Ok(left)
    }

    /// Those of a list whose message matches one of the patterns, or all of them.
    fn grep(
        &self,
        list: &str,
        patterns: &[String],
        all: bool,
        log: &mut dyn Write,
    ) -> Result<String, Failure> {
        if list.is_empty() {
            return Ok(String::new());
        }
        let patterns: Vec<String> = patterns
            .iter()
            .map(|text| format!("--grep={text}"))
            .collect();
        let mut args = vec!["rev-list", "--stdin", "--no-walk=unsorted"];
        args.extend(patterns.iter().map(String::as_str));
        if all {
            args.push("--all-match");
        }
        self.git.feed(self.dir, &args, &format!("{list}\n"), log)
    }

    /// All commits that lead to any of these.
    pub(super) fn ancestors(
        &self,
        of: &[String],
        log: &mut dyn Write,
    ) -> Result<HashSet<String>, Failure> {
        if of.is_empty() {
            return Ok(HashSet::new());
        }
        let input = format!("{}\n", of.join("\n"));
        let list = self
            .git
            .feed(self.dir, &["rev-list", "--stdin"], &input, log)?;
        Ok(list.lines().map(str::to_owned).collect())
    }
}
