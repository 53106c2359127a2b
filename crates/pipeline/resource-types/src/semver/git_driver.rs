//! The number in a file of a git repository. A push is done again if another one came first.

use std::{fs, io::Write, path::PathBuf};

use super::{Driver, settings::GitFile, strict};
use crate::{
    Failure,
    git::{Access, Git, Purpose, PushEnd},
    paths::inside,
    scratch::Scratch,
    versions::Semver,
};

pub(super) struct GitDriver {
    git: Git,
    place: GitFile,
    scratch: Scratch,
    cloned: bool,
}

impl GitDriver {
    pub(super) fn new(
        mut access: Access,
        place: GitFile,
        purpose: Purpose,
        log: &mut dyn Write,
    ) -> Result<Self, Failure> {
        if purpose == Purpose::Check {
            // Who would commit does not matter.
            access.git_config.clear();
        }
        inside(std::path::Path::new("/"), &place.file)?;
        Ok(Self {
            git: Git::new(access, purpose, log)?,
            place,
            scratch: Scratch::new()?,
            cloned: false,
        })
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().join("repository")
    }

    fn file(&self) -> Result<PathBuf, Failure> {
        inside(&self.folder(), &self.place.file)
    }

    /// The branch as it is now, one commit deep.
    fn update(&mut self, log: &mut dyn Write) -> Result<(), Failure> {
        let folder = self.folder();
        let branch = self.place.branch.as_str();
        if self.cloned {
            let fetch = ["fetch", "--quiet", "--depth=1", "origin", branch];
            self.git.run(&folder, &fetch, log)?;
            return self
                .git
                .run(&folder, &["reset", "--quiet", "--hard", "FETCH_HEAD"], log);
        }
        let target = folder.display().to_string();
        let uri = self.git.uri().to_owned();
        let clone = [
            "clone",
            "--quiet",
            "--no-local",
            "--depth=1",
            "--single-branch",
            "--no-tags",
            "--branch",
            branch,
            "--",
            &uri,
            &target,
        ];
        self.git.run(self.scratch.path(), &clone, log)?;
        self.cloned = true;
        Ok(())
    }
}

impl Driver for GitDriver {
    fn current(&mut self, log: &mut dyn Write) -> Result<Option<Semver>, Failure> {
        self.update(log)?;
        let path = self.file()?;
        // A link would be a way to read something else.
        if !path.is_file() || path.is_symlink() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(Failure::io(&path))?;
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.is_empty() {
            return Ok(None);
        }
        strict(word).map(Some).ok_or_else(|| {
            Failure::said(format!(
                "{} has {word:?} in it, which is not a version",
                self.place.file
            ))
        })
    }

    fn replace(&mut self, new: &Semver, log: &mut dyn Write) -> Result<bool, Failure> {
        let (folder, path) = (self.folder(), self.file()?);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failure::io(parent))?;
        }
        fs::write(&path, format!("{new}\n")).map_err(Failure::io(&path))?;
        self.git
            .run(&folder, &["add", "--", &self.place.file], log)?;
        if self
            .git
            .ask(&folder, &["diff", "--cached", "--quiet"])?
            .is_some()
        {
            return Ok(true);
        }
        let message = match &self.place.commit_message {
            Some(text) => text
                .replace("%version%", &new.to_string())
                .replace("%file%", &self.place.file),
            None => format!("bump to {new}"),
        };
        self.git
            .feed(&folder, &["commit", "--quiet", "--file=-"], &message, log)?;
        let refspec = format!("HEAD:refs/heads/{}", self.place.branch);
        let pushed = self.git.attempt(
            &folder,
            &["push", "--porcelain", "origin", &refspec],
            b"",
            log,
        )?;
        match PushEnd::of(&pushed) {
            PushEnd::Pushed => Ok(true),
            // Who made the very same commit in the same second was faster, and it is theirs.
            PushEnd::UpToDate | PushEnd::Behind => Ok(false),
            PushEnd::Refused => Err(Failure::said(format!(
                "the push to {} was refused",
                self.git.uri()
            ))),
        }
    }
}
