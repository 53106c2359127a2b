//! A bare clone of the repository with the locks. It is read and written through git's objects:
//! no file of it is ever checked out.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use super::{
    locks::{CLAIMED, LockChange, LockFile, NewContent, PoolLocks, UNCLAIMED, is_lock_name},
    settings::Source,
};
use crate::{
    Failure,
    git::{Git, Purpose},
    scratch::Scratch,
};

/// The part of the history that a clone brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloneDepth {
    /// The latest commit.
    Latest,
    Whole,
    /// All commits, without the content of files.
    Commits,
}

pub(super) struct PoolRepository {
    git: Git,
    /// Removes the clone when the action ends.
    scratch: Scratch,
    branch: String,
    pub(super) pool: String,
}

impl PoolRepository {
    pub(super) fn new(
        source: Source,
        purpose: Purpose,
        log: &mut dyn Write,
    ) -> Result<Self, Failure> {
        let mut git = Git::new(source.access, purpose, log)?;
        // The name of a pool is not a pattern.
        git.set("GIT_LITERAL_PATHSPECS", "1");
        // A commit that is not there is not looked for on the server.
        git.set("GIT_NO_LAZY_FETCH", "1");
        Ok(Self {
            git,
            scratch: Scratch::new()?,
            branch: source.branch,
            pool: source.pool,
        })
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path().join("pool.git")
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn read(&self, args: &[&str], log: &mut dyn Write) -> Result<String, Failure> {
        self.git.read(&self.dir(), args, log)
    }

    /// Returns the branch's latest commit, from the server and without a clone.
    pub(super) fn remote_tip(&self, log: &mut dyn Write) -> Result<Option<String>, Failure> {
        let reference = self.reference();
        let args = ["ls-remote", "--", self.git.uri(), &reference];
        let answer = self.git.read(Path::new("/"), &args, log)?;
        let mut lines = answer.lines().filter_map(|line| line.split_once('\t'));
        let line = lines.find(|(_, name)| *name == reference);
        Ok(line.map(|(hash, _)| hash.to_owned()))
    }

    pub(super) fn clone(&self, depth: CloneDepth, log: &mut dyn Write) -> Result<(), Failure> {
        let target = self.dir().display().to_string();
        let mut args = vec!["clone", "--bare", "--no-local", "--quiet", "--template="];
        args.extend(["--single-branch", "--no-tags", "--branch", &self.branch]);
        args.extend(match depth {
            CloneDepth::Latest => Some("--depth=1"),
            CloneDepth::Whole => None,
            CloneDepth::Commits => Some("--filter=blob:none"),
        });
        args.extend(["--", self.git.uri(), &target]);
        self.git.run(self.scratch.path(), &args, log)
    }

    /// Fetches what was pushed since.
    pub(super) fn update(&self, log: &mut dyn Write) -> Result<(), Failure> {
        let reference = self.reference();
        let refspec = format!("+{reference}:{reference}");
        let args = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--",
            self.git.uri(),
            &refspec,
        ];
        self.git.run(&self.dir(), &args, log)
    }

    /// Returns the latest commit that was fetched.
    pub(super) fn tip(&self, log: &mut dyn Write) -> Result<String, Failure> {
        self.read(&["rev-parse", "--verify", &self.reference()], log)
    }

    /// Returns true if a commit leads to another, or is the same.
    pub(super) fn leads_to(&self, commit: &str, tip: &str) -> Result<bool, Failure> {
        let args = ["merge-base", "--is-ancestor", commit, tip];
        Ok(self.git.ask(&self.dir(), &args)?.is_some())
    }

    /// Returns the commits of a range that change the pool, newest first.
    pub(super) fn changes(
        &self,
        range: &str,
        most: Option<u32>,
        path: &str,
        log: &mut dyn Write,
    ) -> Result<Vec<String>, Failure> {
        let most = most.map(|most| format!("--max-count={most}"));
        let mut args = vec!["rev-list"];
        args.extend(most.as_deref());
        args.extend([range, "--", path]);
        let list = self.read(&args, log)?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Returns the paths in the pool that a commit changes.
    pub(super) fn changed(
        &self,
        commit: &str,
        log: &mut dyn Write,
    ) -> Result<Vec<String>, Failure> {
        let mut args = vec![
            "diff-tree",
            "--root",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
        ];
        args.extend(["--no-commit-id", commit, "--", &self.pool]);
        let list = self.read(&args, log)?;
        Ok(list
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Reads the locks of a commit. Links and folders are not locks.
    pub(super) fn locks(&self, commit: &str, log: &mut dyn Write) -> Result<PoolLocks, Failure> {
        let [claimed, unclaimed] =
            [CLAIMED, UNCLAIMED].map(|name| format!("{}/{name}/", self.pool));
        let args = [
            "ls-tree",
            "-z",
            "--full-tree",
            commit,
            "--",
            &claimed,
            &unclaimed,
        ];
        let list = self.read(&args, log)?;
        let mut locks = PoolLocks::default();
        for (about, path) in list.split('\0').filter_map(|entry| entry.split_once('\t')) {
            locks.exists = true;
            let mut words = about.split(' ');
            let (Some(mode), Some("blob"), Some(hash)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let (folder, name) = match (path.strip_prefix(&claimed), path.strip_prefix(&unclaimed))
            {
                (Some(name), _) => (&mut locks.claimed, name),
                (None, Some(name)) => (&mut locks.unclaimed, name),
                (None, None) => continue,
            };
            if mode.starts_with("100") && is_lock_name(name) {
                let (mode, hash) = (mode.to_owned(), hash.to_owned());
                folder.insert(name.to_owned(), LockFile { mode, hash });
            }
        }
        Ok(locks)
    }

    /// Reads the content of a lock.
    pub(super) fn content(&self, file: &LockFile, log: &mut dyn Write) -> Result<Vec<u8>, Failure> {
        let args = ["cat-file", "blob", &file.hash];
        let ended = self.git.attempt(&self.dir(), &args, b"", log)?;
        if ended.ok {
            return Ok(ended.answer);
        }
        let words = format!("the lock's content {} cannot be read", file.hash);
        Err(Failure::said(words))
    }

    /// Makes a commit on top of another; returns the same commit if nothing changes.
    pub(super) fn commit(
        &self,
        parent: &str,
        change: &LockChange,
        message: &str,
        log: &mut dyn Write,
    ) -> Result<String, Failure> {
        self.read(&["read-tree", parent], log)?;
        let path = |folder: &str| format!("{}/{folder}/{}", self.pool, change.lock);
        let mut lines = String::new();
        if let Some((folder, file)) = &change.from {
            // A mode of zero removes an entry.
            lines += &format!("0 {}\t{}\0", file.hash, path(folder));
        }
        if let Some((folder, content)) = &change.to {
            let file = match content {
                NewContent::Kept(file) => file.clone(),
                NewContent::Written(bytes) => self.store(bytes, log)?,
            };
            lines += &format!("{} {}\t{}\0", file.mode, file.hash, path(folder));
        }
        let dir = self.dir();
        self.git
            .feed(&dir, &["update-index", "-z", "--index-info"], &lines, log)?;
        let tree = self.read(&["write-tree"], log)?;
        if tree == self.read(&["rev-parse", &format!("{parent}^{{tree}}")], log)? {
            return Ok(parent.to_owned());
        }
        self.git
            .feed(&dir, &["commit-tree", &tree, "-p", parent], message, log)
    }

    fn store(&self, bytes: &[u8], log: &mut dyn Write) -> Result<LockFile, Failure> {
        let args = ["hash-object", "-w", "--stdin", "--no-filters"];
        let ended = self.git.attempt(&self.dir(), &args, bytes, log)?;
        if !ended.ok {
            return Err(Failure::said("git cannot store the content of the lock"));
        }
        Ok(LockFile {
            mode: "100644".to_owned(),
            hash: ended.text().trim_end().to_owned(),
        })
    }

    /// Pushes a commit; returns false if the server did not take it.
    pub(super) fn push(&self, commit: &str, log: &mut dyn Write) -> Result<bool, Failure> {
        let refspec = format!("{commit}:{}", self.reference());
        let args = ["push", "--quiet", "--", self.git.uri(), &refspec];
        Ok(self.git.attempt(&self.dir(), &args, b"", log)?.ok)
    }
}
