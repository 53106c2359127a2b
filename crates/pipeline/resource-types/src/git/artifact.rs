//! A repository that a task made, taken over into a fresh one.
//!
//! git runs hooks, helpers and filters that a repository's own folder names, and a put has the keys
//! of its source at hand. So a put never runs git inside the task's repository. It takes the
//! objects, the references and the list of shallow commits, none of which git can run, into a
//! repository of its own.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{Git, config::has_program};
use crate::{Failure, scratch::Scratch};

/// Far more references than any repository has, and fewer than would fill a disk.
const MOST_REFERENCES: usize = 200_000;

/// A name of a reference has fewer parts than this.
const DEEPEST: usize = 64;

const MAX_REFERENCE: u64 = 4 << 10;
const MAX_LIST: u64 = 64 << 20;

/// A fresh repository with the commits and references of a task's repository.
pub(super) struct Taken {
    /// Removes the repository when the put ends.
    scratch: Scratch,
    path: PathBuf,
    /// The task's folder with objects.
    objects: PathBuf,
    /// The task's folder with large files, if it has any and this machine has git-lfs.
    large_files: Option<PathBuf>,
}

/// The branch for large files where a put has none.
const LARGE_FILES: &str = "large-files";

impl Taken {
    pub(super) fn take(git: &Git, artifact: &Path, log: &mut dyn Write) -> Result<Self, Failure> {
        let from = Folders::find(artifact)?;
        let scratch = Scratch::new()?;
        let path = scratch.path().join("repository");
        let format = from.object_format(git)?;
        let format = format!("--object-format={format}");
        let target = path.display().to_string();
        let args = ["init", "--quiet", "--template=", &format, &target];
        git.run(Path::new("/"), &args, log)?;
        let to = path.join(".git");
        let objects = from.common.join("objects");
        lend_objects(&[&objects], &to)?;
        from.copy_references(&to)?;
        let large_files = from.common.join("lfs");
        let has_large_files = large_files.is_dir() && has_program("git-lfs");
        if has_large_files {
            let storage = large_files.display().to_string();
            git.run(&path, &["config", "lfs.storage", &storage], log)?;
        }
        Ok(Self {
            scratch,
            path,
            objects,
            large_files: has_large_files.then_some(large_files),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the working tree with HEAD, as a rebase or a merge needs it.
    pub(super) fn check_out(&self, git: &Git, log: &mut dyn Write) -> Result<(), Failure> {
        git.run(&self.path, &["reset", "--quiet", "--hard", "HEAD"], log)
    }

    /// Sends the large files of HEAD: the hook that would do so stayed behind.
    ///
    /// git-lfs takes the server from `.lfsconfig` of the working tree, the index or HEAD, which are
    /// the task's, and would send the put's credentials there. So it runs in a bare repository
    /// whose HEAD leads nowhere.
    pub(super) fn push_large_files(
        &self,
        git: &Git,
        branch: &str,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        let Some(storage) = &self.large_files else {
            return Ok(());
        };
        let bare = self.scratch.path().join("large-files");
        let place = bare.display().to_string();
        let format = git.read(&self.path, &["rev-parse", "--show-object-format"], log)?;
        let format = format!("--object-format={format}");
        let args = ["init", "--quiet", "--bare", "--template=", &format, &place];
        git.run(Path::new("/"), &args, log)?;
        let own = self.path.join(".git");
        // git-lfs does not follow a list of objects to another list.
        let objects = [&own.join("objects"), &self.objects];
        lend_objects(&objects.map(PathBuf::as_path), &bare)?;
        if own.join("shallow").exists() {
            let target = bare.join("shallow");
            fs::copy(own.join("shallow"), &target).map_err(Failure::io(&target))?;
        }
        let branch = Some(branch).filter(|branch| !branch.is_empty());
        let branch = branch.unwrap_or(LARGE_FILES);
        let commit = git.read(&self.path, &["rev-parse", "HEAD"], log)?;
        let name = format!("refs/heads/{branch}");
        git.run(&bare, &["update-ref", &name, &commit], log)?;
        let head = bare.join("HEAD");
        fs::write(&head, "ref: refs/nothing\n").map_err(Failure::io(&head))?;
        let storage = storage.display().to_string();
        git.run(&bare, &["config", "lfs.storage", &storage], log)?;
        git.run(&bare, &["lfs", "push", git.uri(), branch], log)
    }
}

/// Lets a repository read the objects in other folders where they are.
fn lend_objects(folders: &[&Path], to: &Path) -> Result<(), Failure> {
    let info = to.join("objects/info");
    fs::create_dir_all(&info).map_err(Failure::io(&info))?;
    let mut list = String::new();
    for folder in folders {
        let folder = folder.canonicalize().map_err(Failure::io(folder))?;
        list += &format!("{}\n", folder.display());
    }
    let path = info.join("alternates");
    fs::write(&path, list).map_err(Failure::io(&path))
}

/// The folders of a repository that a task made.
struct Folders {
    /// The folder with HEAD.
    own: PathBuf,
    /// The folder with objects and references: another one only for a working tree beside others.
    common: PathBuf,
}

impl Folders {
    fn find(artifact: &Path) -> Result<Self, Failure> {
        let inner = artifact.join(".git");
        let own = if inner.is_dir() {
            inner
        } else if inner.is_file() {
            let text = text_of(&inner, MAX_REFERENCE).map_err(Failure::io(&inner))?;
            let named = text
                .as_deref()
                .and_then(|text| text.strip_prefix("gitdir:"));
            artifact.join(named.ok_or_else(not_a_repository)?.trim())
        } else {
            artifact.to_owned()
        };
        if !own.join("HEAD").exists() {
            return Err(not_a_repository());
        }
        let link = own.join("commondir");
        let common = match text_of(&link, MAX_REFERENCE).map_err(Failure::io(&link))? {
            Some(text) => own.join(text.trim()),
            None => own.clone(),
        };
        if !common.join("objects").is_dir() {
            return Err(not_a_repository());
        }
        Ok(Self { own, common })
    }

    /// Returns the kind of hashes, from the one setting of the task's repository that counts.
    /// Reading a file of settings runs nothing.
    fn object_format(&self, git: &Git) -> Result<&'static str, Failure> {
        let file = self.common.join("config").display().to_string();
        let read = |name: &str| {
            let args = ["config", "--file", &file, "--no-includes", "--get", name];
            git.ask(Path::new("/"), &args)
        };
        if let Some(storage) = read("extensions.refstorage")?
            && storage != "files"
        {
            let words = format!("keeps its references as {storage:?}; a put can read files only");
            return Err(Failure::params("repository", words));
        }
        match read("extensions.objectformat")?.as_deref() {
            None | Some("sha1") => Ok("sha1"),
            Some("sha256") => Ok("sha256"),
            Some(other) => {
                let words = format!("has hashes of the kind {other:?}, which a put does not know");
                Err(Failure::params("repository", words))
            }
        }
    }

    fn copy_references(&self, to: &Path) -> Result<(), Failure> {
        for (name, most) in [("packed-refs", MAX_LIST), ("shallow", MAX_LIST)] {
            let (source, target) = (self.common.join(name), to.join(name));
            if let Some(text) = text_of(&source, most).map_err(Failure::io(&source))? {
                fs::write(&target, text).map_err(Failure::io(&target))?;
            }
        }
        let head = self.own.join("HEAD");
        let text = text_of(&head, MAX_REFERENCE).map_err(Failure::io(&head))?;
        let text = text
            .filter(|text| is_reference(text))
            .ok_or_else(not_a_repository)?;
        let target = to.join("HEAD");
        fs::write(&target, text).map_err(Failure::io(&target))?;
        copy_loose(&self.common.join("refs"), &to.join("refs"))
    }
}

/// Copies files of references, whatever else lies between them.
fn copy_loose(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut folders = vec![(from.to_owned(), to.to_owned(), 0)];
    let mut count = 0;
    while let Some((from, to, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&from) else {
            continue;
        };
        fs::create_dir_all(&to).map_err(Failure::io(&to))?;
        for entry in entries {
            let entry = entry.map_err(Failure::io(&from))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            count += 1;
            if count > MOST_REFERENCES || depth > DEEPEST {
                let words = "has more references than any repository should";
                return Err(Failure::params("repository", words));
            }
            let kind = entry.file_type().map_err(Failure::io(&source))?;
            if kind.is_dir() {
                folders.push((source, target, depth + 1));
            } else if let Some(text) =
                text_of(&source, MAX_REFERENCE).map_err(Failure::io(&source))?
                && is_reference(&text)
            {
                fs::write(&target, text).map_err(Failure::io(&target))?;
            }
        }
    }
    Ok(())
}

/// Returns true for a hash, or the name of another reference.
fn is_reference(text: &str) -> bool {
    let text = text.trim_end();
    let is_hash =
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash
        || text
            .strip_prefix("ref: ")
            .is_some_and(|name| name.starts_with("refs/"))
}

/// Reads a regular file of at most `most` bytes; `None` if there is no such file, or it is longer
/// or no text.
fn text_of(path: &Path, most: u64) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() && found.len() <= most => (),
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).ok())
}

fn not_a_repository() -> Failure {
    Failure::params("repository", "is a folder without a git repository in it")
}
