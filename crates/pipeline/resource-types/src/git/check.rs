//! `check`: the commits, or tagged commits, since a version.

use std::{collections::HashSet, io::Write, path::Path};

use airside_model::Version;

use super::{
    Git, all_tags, branches,
    config::Purpose,
    mirror::Mirror,
    settings::{Source, VersionType, plain},
    tags,
};
use crate::{CheckInput, Failure, Part};

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let mut source = Source::read(request.source, log)?;
    let git = Git::new(source.access(), Purpose::Check, log)?;
    match source.version_type {
        VersionType::Commits => (),
        VersionType::Tags => return all_tags::versions(&git, &source, log),
        VersionType::Branches => return branches::versions(&git, &source, log),
    }
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
    let look = BranchHistory {
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

/// Returns the commit of the branch, without a clone. If the source leaves the branch to the
/// remote, the source has the remote's choice from now on.
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

fn grep_for(pattern: &String) -> String {
    format!("--grep={pattern}")
}

/// A commit of the branch.
struct Place {
    /// The one before it; none before the first.
    parent: Option<String>,
}

/// A look into a clone.
pub(super) struct BranchHistory<'a> {
    pub(super) git: &'a Git,
    pub(super) source: &'a Source,
    pub(super) dir: &'a Path,
}

impl BranchHistory<'_> {
    /// Returns commits from the given one on, or the latest ones if it is not there any more;
    /// oldest first.
    fn commits(&self, from: Option<&str>, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
        let place = match from {
            Some(from) => self.place(from, log)?,
            None => None,
        };
        let parent = place.as_ref().and_then(|place| place.parent.as_deref());
        let mut found = self.passing("HEAD", parent, log)?;
        if place.is_none() {
            found.truncate(self.depth());
        }
        Ok(found.iter().rev().map(|hash| commit(hash)).collect())
    }

    pub(super) fn depth(&self) -> usize {
        self.source.version_depth.unwrap_or(1) as usize
    }

    /// Returns the position of a commit in the history of the branch, if it is there. It lists all
    /// commits rather than asking for this one: git would ask the remote for one that is missing.
    fn place(&self, hash: &str, log: &mut dyn Write) -> Result<Option<Place>, Failure> {
        let args = ["rev-list", "--parents", "HEAD"];
        let all = self.git.read(self.dir, &args, log)?;
        let mut lines = all.lines().map(|line| line.split(' '));
        let line = lines.find_map(|mut line| (line.next() == Some(hash)).then_some(line));
        Ok(line.map(|mut parents| Place {
            parent: parents.next().map(str::to_owned),
        }))
    }

    /// The commit before this one, if there is one.
    pub(super) fn parent(&self, of: &str) -> Result<Option<String>, Failure> {
        let parent = format!("{of}~1");
        let args = ["rev-parse", "--verify", "--quiet", parent.as_str()];
        self.git.ask(self.dir, &args)
    }

    /// The commits that pass every filter, newest first, without `until` and what was before that.
    pub(super) fn passing(
        &self,
        tip: &str,
        until: Option<&str>,
        log: &mut dyn Write,
    ) -> Result<Vec<String>, Failure> {
        let mut args = vec!["rev-list", "--first-parent"];
        let filter = &self.source.commit_filter;
        let is_plain = filter.include.is_empty() && filter.exclude.is_empty();
        let skips: Vec<String> = self.skipped().iter().map(grep_for).collect();
        if is_plain && !skips.is_empty() {
            args.push("--invert-grep");
            args.extend(skips.iter().map(String::as_str));
        }
        args.push(tip);
        if let Some(until) = until {
            args.extend(["--not", until]);
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
        let list = if is_plain {
            list
        } else {
            self.by_message(list, log)?
        };
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Returns the texts in messages of commits that are not to be built.
    fn skipped(&self) -> Vec<String> {
        let patterns: &[&str] = if self.source.disable_ci_skip {
            &[]
        } else {
            &[r"\[ci[[:space:]]skip\]", r"\[skip[[:space:]]ci\]"]
        };
        patterns.iter().map(|text| (*text).to_owned()).collect()
    }

    fn ignored(&self) -> Vec<String> {
        let ignored = self.source.ignore_paths.iter();
        ignored.map(|path| format!(":!{path}")).collect()
    }

    fn by_message(&self, list: String, log: &mut dyn Write) -> Result<String, Failure> {
        let filter = &self.source.commit_filter;
        let mut left = if filter.include.is_empty() {
            list
        } else {
            self.grep(&list, &filter.include, filter.include_all_match, log)?
        };
        let skipped = self.skipped();
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

    /// Returns the commits of a list whose message matches one of the patterns, or all of them.
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
        let patterns: Vec<String> = patterns.iter().map(grep_for).collect();
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
