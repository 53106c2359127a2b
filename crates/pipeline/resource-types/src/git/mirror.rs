//! A bare clone to look for commits in: as little of the repository as the question needs. It goes
//! away with the check.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use super::{Git, settings::Source};
use crate::{Failure, scratch::Scratch};

pub(super) struct Mirror {
    path: PathBuf,
    /// Removes the clone when the check ends.
    _scratch: Scratch,
}

impl Mirror {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Clones the repository as it is now.
    pub(super) fn open(git: &Git, source: &Source, log: &mut dyn Write) -> Result<Self, Failure> {
        let scratch = Scratch::new()?;
        let path = scratch.path().join("repository.git");
        let target = path.display().to_string();
        let filter = if source.limits_paths() {
            // The trees of a commit show which paths it changes.
            "--filter=blob:none"
        } else {
            "--filter=tree:0"
        };
        let mut args = vec!["clone", "--bare", "--no-local", "--quiet", filter];
        if !source.wants_tags() {
            args.extend(["--single-branch", "--no-tags"]);
        }
        if let Some(branch) = &source.branch {
            args.extend(["--branch", branch]);
        }
        args.extend(["--", git.uri(), &target]);
        git.run(Path::new("/"), &args, log)?;
        Ok(Self {
            path,
            _scratch: scratch,
        })
    }
}
