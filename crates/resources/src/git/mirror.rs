//! A bare clone to look for commits in: as little of the repository as the question needs, and kept from
//! check to check where there is a place for that.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    path::{Path, PathBuf},
};

use super::{Git, settings::Source};
use crate::{Failure, log::say, scratch::Scratch};

/// A folder of the checker's own, for clones that outlive a check.
const CACHE: &str = "AIRSIDE_GIT_CACHE";

pub(super) struct Mirror {
    path: PathBuf,
    /// Held while the clone is in use: a temporary folder, or the lock on a lasting one.
    _held: Held,
}

enum Held {
    Temporary { _folder: Scratch },
    Locked { _lock: File },
}

impl Mirror {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The repository as it is now.
    pub(super) fn open(git: &Git, source: &Source, log: &mut dyn Write) -> Result<Self, Failure> {
        let clone = Clone { git, source };
        match std::env::var_os(CACHE) {
            Some(cache) => clone.lasting(Path::new(&cache), log),
            None => {
                let folder = Scratch::new()?;
                let path = folder.path().join("repository.git");
                clone.make(&path, log)?;
                let _held = Held::Temporary { _folder: folder };
                Ok(Self { path, _held })
            }
        }
    }
}

struct Clone<'a> {
    git: &'a Git,
    source: &'a Source,
}

impl Clone<'_> {
    fn lasting(&self, cache: &Path, log: &mut dyn Write) -> Result<Mirror, Failure> {
        fs::create_dir_all(cache).map_err(Failure::io(cache))?;
        let path = cache.join(format!("{}.git", self.key()));
        let lock_path = path.with_extension("lock");
        let lock = File::create(&lock_path).map_err(Failure::io(&lock_path))?;
        lock.lock().map_err(Failure::io(&lock_path))?;
        let fresh = match path.is_dir() {
            true => self.update(&path, log).is_err(),
            false => true,
        };
        if fresh {
            // Only what is whole replaces what was there.
            let work = Scratch::within(cache)?;
            let made = work.path().join("repository.git");
            self.make(&made, log)?;
            if path.is_dir() {
                say(log, "the kept clone could not be updated; made a new one");
                airside_tree::remove(&path).map_err(Failure::io(&path))?;
            }
            fs::rename(&made, &path).map_err(Failure::io(&path))?;
        }
        let _held = Held::Locked { _lock: lock };
        Ok(Mirror { path, _held })
    }

    /// One clone for each way of cloning.
    fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        let source = self.source;
        let how = (source.wants_tags(), source.limits_paths());
        (self.git.uri(), &source.branch, how).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn make(&self, path: &Path, log: &mut dyn Write) -> Result<(), Failure> {
        let target = path.display().to_string();
        let filter = match self.source.limits_paths() {
            // Which paths a commit changes is in its trees.
            true => "--filter=blob:none",
            false => "--filter=tree:0",
        };
        let mut args = vec!["clone", "--bare", "--no-local", "--quiet", filter];
        if !self.source.wants_tags() {
            args.extend(["--single-branch", "--no-tags"]);
        }
        if let Some(branch) = &self.source.branch {
            args.extend(["--branch", branch]);
        }
        args.extend(["--", self.git.uri(), &target]);
        self.git.run(Path::new("/"), &args, log)
    }

    fn update(&self, path: &Path, log: &mut dyn Write) -> Result<(), Failure> {
        let mut args = vec!["fetch", "--quiet", "--force", "--prune"];
        args.push("--no-write-fetch-head");
        let head = match &self.source.branch {
            // The clone was made for it.
            Some(branch) => format!("refs/heads/{branch}"),
            None => self.git.read(path, &["symbolic-ref", "HEAD"], log)?,
        };
        let refspec = format!("+{head}:{head}");
        if self.source.wants_tags() {
            let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
            args.extend(["--update-head-ok", "origin"].into_iter().chain(all));
        } else {
            args.extend(["--no-tags", "--update-head-ok", "origin", &refspec]);
        }
        self.git.run(path, &args, log)
    }
}
