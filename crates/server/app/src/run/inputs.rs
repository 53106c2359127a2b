//! The content of an input: a copy of a person's folder, as a get would have left it.

use std::{
    collections::HashSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use airside_config::Config;
use airside_resource_types::{Failure, checkout_files};
use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::{
    checkout::{AskError, Checkout},
    folders::Folder,
};

/// The owner of what a get leaves.
const ROOT: (u32, u32) = (0, 0);

#[derive(Args, Clone, Default)]
pub(crate) struct InputOptions {
    /// Also copy the files of an --input that git ignores, which are left out by default
    #[arg(long)]
    pub(crate) input_ignored: bool,
}

/// A folder about to be copied.
pub(crate) struct InputContent {
    path: PathBuf,
    left_out: HashSet<PathBuf>,
    /// Files for `.git`, as a get of type `git` writes them.
    git_files: Vec<(&'static str, String)>,
}

impl InputContent {
    /// Asks git about a folder. Returns what is to be copied, and why it is more or less than it
    /// could be. Blocks.
    pub(crate) fn read(
        folder: &Folder,
        config: &Config,
        options: &InputOptions,
    ) -> (Self, Vec<String>) {
        let mut content = Self {
            path: folder.path.clone(),
            left_out: HashSet::new(),
            git_files: Vec::new(),
        };
        let (mut problems, checkout) = (Vec::new(), Checkout::find(&folder.path));
        if let Some(checkout) = &checkout
            && !options.input_ignored
        {
            match checkout.ignored() {
                Ok(ignored) => content.left_out.extend(ignored),
                Err(error) => problems.push(format!(
                    "files that git ignores are copied too, because {}",
                    airside_model::chain(&error)
                )),
            }
        }
        let Some(uri) = git_uri(config, &folder.resource) else {
            return (content, problems);
        };
        match checkout.as_ref().map(|checkout| describe(checkout, &uri)) {
            Some(Ok(files)) => content.git_files = files,
            Some(Err(reason)) => {
                problems.push(format!("the copy has no .git/ref, because {reason}"))
            }
            None => problems.push(
                "the copy has no .git/ref, because the folder has no .git folder of its owner"
                    .to_owned(),
            ),
        }
        (content, problems)
    }

    /// Copies the content into an empty folder that only this process knows. Blocks.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<()> {
        let is_left_out = |path: &Path| self.left_out.contains(path);
        airside_archive::copy_as(&self.path, to, ROOT, &is_left_out)?;
        if self.git_files.is_empty() {
            return Ok(());
        }
        let repository = to.join(".git");
        // It was a folder when git was asked, and what is copied may be something else by now.
        if !repository.symlink_metadata()?.is_dir() {
            bail!("its .git folder was replaced while it was copied");
        }
        for (name, text) in &self.git_files {
            replace(&repository.join(name), text)
                .with_context(|| format!("cannot write .git/{name}"))?;
        }
        Ok(())
    }
}

/// Writes a new file. One of the name, which may be a link to anywhere, is removed first.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// Returns the address of a resource's repository, if its type is the native `git`.
fn git_uri(config: &Config, resource: &str) -> Option<String> {
    let resource = config.resource(resource)?;
    if resource.type_ != "git" || config.resource_type("git").is_some() {
        return None;
    }
    let source = resource.source.as_ref();
    let uri = source.and_then(|source| source.get("uri")?.as_str());
    Some(uri.unwrap_or_default().to_owned())
}

fn describe(checkout: &Checkout, uri: &str) -> Result<Vec<(&'static str, String)>, DescribeError> {
    let mut failure = None;
    let files = checkout_files(uri, &mut |args| match checkout.ask(args) {
        Ok(answer) => Ok(answer),
        Err(error) => {
            failure = Some(error);
            Ok(None)
        }
    });
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(files?),
    }
}

/// The reason why a checkout cannot be described.
#[derive(Debug, thiserror::Error)]
enum DescribeError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("{0}; has it a commit?")]
    Git(#[from] Failure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_links_in_the_repository_are_replaced_and_not_followed() {
        let (from, to, else_) = (
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        fs::create_dir(from.path().join(".git")).unwrap();
        std::os::unix::fs::symlink(else_.path(), from.path().join(".git/ref")).unwrap();
        let mut content = InputContent {
            path: from.path().to_owned(),
            left_out: HashSet::new(),
            git_files: vec![("ref", "1\n".to_owned())],
        };
        content.copy_to(to.path()).unwrap();
        assert_eq!(
            fs::read_to_string(to.path().join(".git/ref")).unwrap(),
            "1\n"
        );
        assert_eq!(fs::read_to_string(else_.path()).unwrap(), "");

        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink("/tmp", from.path().join(".git")).unwrap();
        content.path = from.path().to_owned();
        content.copy_to(to.path()).unwrap_err();
    }
}
