//! `put`: pushes what a build made.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use airside_model::Version;

use super::{
    Git,
    artifact::Taken,
    command::log_answer,
    config::Purpose,
    metadata,
    push_end::PushEnd,
    settings::{OutParams, Returning, Source, VersionType},
};
use crate::{Failure, OutRequest, Produced, log::say, paths::inside};

/// Number of tries of a push while others push before it.
const TRIES: u32 = 50;

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let mut source = Source::read(request.source, log)?;
    let params = OutParams::read(request.params, log)?;
    let mut access = source.access();
    access.debug |= params.debug;
    if source.version_type == VersionType::Branches {
        let words = "is branches: such a resource can be got, and not be put to";
        return Err(Failure::source("version_type", words));
    }
    let mut git = Git::new(access, Purpose::Step, log)?;
    // A rebase or a merge needs no large files, only what stands for them.
    git.set("GIT_LFS_SKIP_SMUDGE", "1");
    let branch = params.branch.clone().or(source.branch);
    if branch.is_none() && !params.only_tag {
        let words = "is missing: a put needs to know which branch to push to";
        return Err(Failure::source("branch", words));
    }
    let name = params.repository.as_deref().ok_or_else(|| {
        Failure::params(
            "repository",
            "is missing: give the folder with the repository",
        )
    })?;
    let artifact = inside(src, name)?;
    if !artifact.is_dir() {
        let words = format!("is {name:?}, and there is no such folder among the inputs");
        return Err(Failure::params("repository", words));
    }
    let put = Put {
        tag: tag(&params, src)?,
        annotation: file("annotate", &params.annotate, src)?,
        notes: file("notes", &params.notes, src)?,
        branch: branch.unwrap_or_default(),
        taken: Taken::take(&git, &artifact, log)?,
        git,
        params,
    };
    put.all(log)
}

/// The tag that a file names.
fn tag(params: &OutParams, src: &Path) -> Result<Option<String>, Failure> {
    let Some(path) = file("tag", &params.tag, src)? else {
        return Ok(None);
    };
    let text = fs::read_to_string(&path).map_err(Failure::io(&path))?;
    let prefix = params.tag_prefix.as_deref().unwrap_or_default();
    let name = format!("{prefix}{}", text.trim());
    if text.trim().is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        let words = format!("is a file with {:?} in it, which is not a tag", text.trim());
        return Err(Failure::params("tag", words));
    }
    Ok(Some(name))
}

/// A file that a param names, if it does; then it must be there.
fn file(key: &str, name: &Option<String>, src: &Path) -> Result<Option<PathBuf>, Failure> {
    let Some(name) = name else {
        return Ok(None);
    };
    let path = inside(src, name)?;
    if path.is_file() {
        Ok(Some(path))
    } else {
        let words = format!("is {name:?}, and there is no such file among the inputs");
        Err(Failure::params(key, words))
    }
}

struct Put {
    git: Git,
    params: OutParams,
    taken: Taken,
    branch: String,
    tag: Option<String>,
    annotation: Option<PathBuf>,
    notes: Option<PathBuf>,
}

impl Put {
    fn all(&self, log: &mut dyn Write) -> Result<Produced, Failure> {
        let ours = self.head(log)?;
        self.taken.push_large_files(&self.git, &self.branch, log)?;
        if self.params.only_tag {
            self.make_tag(log)?;
            self.push(&["--tags", self.git.uri()], log)?;
        } else if self.params.merge || self.params.rebase {
            self.join_and_push(&ours, log)?;
        } else {
            self.make_tag(log)?;
            let refspec = self.refspec();
            self.push(&["--tags", self.git.uri(), &refspec], log)?;
            self.push_notes(log)?;
        }
        let head = match (self.params.merge, self.params.returning) {
            (true, Returning::Unmerged) => ours,
            _ => self.head(log)?,
        };
        let mut version = Version::from([("ref", head)]);
        if let Some(branch) = &self.params.branch {
            version.0.insert("branch".to_owned(), branch.clone());
        }
        Ok(Produced {
            version,
            metadata: metadata::of_head(&self.git, self.taken.path(), log)?,
        })
    }

    fn head(&self, log: &mut dyn Write) -> Result<String, Failure> {
        self.git
            .read(self.taken.path(), &["rev-parse", "HEAD"], log)
    }

    fn refspec(&self) -> String {
        let prefix = self.params.refs_prefix.as_deref().unwrap_or("refs/heads");
        format!("HEAD:{prefix}/{}", self.branch)
    }

    fn make_tag(&self, log: &mut dyn Write) -> Result<(), Failure> {
        let Some(tag) = &self.tag else {
            return Ok(());
        };
        let file = self
            .annotation
            .as_ref()
            .map(|path| path.display().to_string());
        let mut args = vec!["tag", "--force", tag];
        if let Some(file) = &file {
            args.extend(["--annotate", "--file", file]);
        }
        self.git.run(self.taken.path(), &args, log)
    }

    fn push(&self, what: &[&str], log: &mut dyn Write) -> Result<(), Failure> {
        let args = self.push_args(what);
        self.git.run(self.taken.path(), &args, log)
    }

    fn push_args<'a>(&'a self, what: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["push", "--progress"];
        if self.params.force {
            args.push("--force");
        }
        for option in &self.params.push_options {
            args.extend(["--push-option", option]);
        }
        args.extend(what);
        args
    }

    fn push_notes(&self, log: &mut dyn Write) -> Result<(), Failure> {
        let Some(notes) = &self.notes else {
            return Ok(());
        };
        let file = notes.display().to_string();
        let args = ["notes", "add", "--file", &file];
        self.git.run(self.taken.path(), &args, log)?;
        self.push(&[self.git.uri(), "refs/notes/*"], log)
    }

    /// Merges or rebases onto the remote's commits, and tries until no other push came first.
    fn join_and_push(&self, ours: &str, log: &mut dyn Write) -> Result<(), Failure> {
        self.taken.check_out(&self.git, log)?;
        for _ in 0..TRIES {
            self.join(ours, log)?;
            self.make_tag(log)?;
            let refspec = self.refspec();
            let args = self.push_args(&["--porcelain", "--tags", self.git.uri(), &refspec]);
            let ended = self.git.attempt(self.taken.path(), &args, b"", log)?;
            log_answer(&ended, log);
            match PushEnd::of(&ended) {
                PushEnd::Pushed | PushEnd::UpToDate => return self.push_notes(log),
                PushEnd::Behind => {}
                PushEnd::Refused => {
                    return Err(Failure::said(format!(
                        "the push to {} was refused, and not because it is behind",
                        self.git.uri()
                    )));
                }
            }
            say(log, "another push came first; trying again");
        }
        Err(Failure::said(format!(
            "gave up after {TRIES} pushes: each time another push came first"
        )))
    }

    fn join(&self, ours: &str, log: &mut dyn Write) -> Result<(), Failure> {
        let (dir, uri) = (self.taken.path(), self.git.uri());
        let notes = ["fetch", "--quiet", uri, "+refs/notes/*:refs/notes/*"];
        if self.params.merge {
            self.git.run(dir, &["reset", "--hard", ours], log)?;
            self.git.run(dir, &notes, log)?;
            let args = ["pull", "--no-rebase", "--no-edit", uri, &self.branch];
            return self.git.run(dir, &args, log);
        }
        self.git.run(dir, &notes, log)?;
        let strategy = self.params.rebase_strategy.as_ref();
        let strategy = strategy.map(|name| format!("--strategy={name}"));
        let options = self.params.rebase_strategy_option.iter();
        let options: Vec<String> = options
            .flat_map(|text| text.split_whitespace())
            .map(|option| format!("-X{option}"))
            .collect();
        let mut args = vec!["pull", "--rebase=merges"];
        args.extend(strategy.as_deref());
        args.extend(options.iter().map(String::as_str));
        args.extend([uri, &self.branch]);
        self.git.run(dir, &args, log)
    }
}
