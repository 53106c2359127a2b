//! A watch on whole trees of folders, and on single files.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    fs, io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};
use tokio::io::unix::AsyncFd;

/// Paths of one report. More are counted, not named.
const MAX_PATHS: usize = 256;

/// The reason why a tree cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum TreeWatchError {
    #[error("there are more than {limit} folders to watch")]
    TooMany { limit: usize },
    #[error(
        "the kernel gives this user no more watches; raise fs.inotify.max_user_watches with sysctl"
    )]
    NoWatches,
    #[error("cannot watch {}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Files that changed: written, made, moved, removed, or with another mode.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TreeChanges {
    pub paths: BTreeSet<PathBuf>,
    /// True if there were more changes than paths.
    pub more: bool,
}

impl TreeChanges {
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.more
    }

    /// Adds the changes of another report.
    pub fn extend(&mut self, other: Self) {
        self.more |= other.more;
        other.paths.into_iter().for_each(|path| self.add(path));
    }

    fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PATHS || self.paths.contains(&path) {
            self.paths.insert(path);
        } else {
            self.more = true;
        }
    }
}

/// A watch on trees and files as they are when they are added. A folder that is made later is
/// reported itself, but what happens below it is not.
pub struct TreeWatch {
    events: AsyncFd<OwnedFd>,
    folders: HashMap<i32, WatchedFolder>,
    limit: usize,
}

struct WatchedFolder {
    path: PathBuf,
    /// Names that are reported; none reports all.
    names: Option<BTreeSet<OsString>>,
}

impl TreeWatch {
    /// Makes a watch of at most `limit` folders.
    pub fn new(limit: usize) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // SAFETY: the descriptor stays open and the same for as long as it is registered: `Self`
        // owns it alone and never hands it out.
        let registered = unsafe { AsyncFd::register(events) };
        Ok(Self {
            events: registered.map_err(io::Error::from)?,
            folders: HashMap::new(),
            limit,
        })
    }

    /// Watches a folder and those below it, but for folders of which `is_left_out` returns true; it
    /// gets their path below `root`. Links to folders are not followed.
    pub fn add_tree(
        &mut self,
        root: &Path,
        is_left_out: &dyn Fn(&Path) -> bool,
    ) -> Result<(), TreeWatchError> {
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let folder = if below.as_os_str().is_empty() {
                root.to_owned()
            } else {
                root.join(&below)
            };
            match self.add_folder(&folder, None) {
                Ok(()) => {}
                // It went while the tree was read.
                Err(TreeWatchError::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && folder != root =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            }
            for name in subfolders(&folder) {
                let below = below.join(name);
                if !is_left_out(&below) {
                    open.push(below);
                }
            }
            if self.folders.len() + open.len() > self.limit {
                return Err(TreeWatchError::TooMany { limit: self.limit });
            }
        }
        Ok(())
    }

    /// Watches a file, which need not exist; its folder must.
    pub fn add_file(&mut self, file: &Path) -> Result<(), TreeWatchError> {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let name = file.file_name().unwrap_or_default().to_owned();
        self.add_folder(folder, Some(name))
    }

    fn add_folder(&mut self, path: &Path, name: Option<OsString>) -> Result<(), TreeWatchError> {
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::ONLYDIR;
        let added = inotify::add_watch(self.events.get_ref(), path, flags);
        let watch = added.map_err(|error| match error {
            Errno::NOSPC => TreeWatchError::NoWatches,
            error => TreeWatchError::Io {
                path: path.to_owned(),
                source: error.into(),
            },
        })?;
        let folder = self.folders.entry(watch).or_insert_with(|| WatchedFolder {
            path: path.to_owned(),
            names: Some(BTreeSet::new()),
        });
        match (name, &mut folder.names) {
            (Some(name), Some(names)) => drop(names.insert(name)),
            (Some(_), None) => {}
            (None, names) => {
                *names = None;
                // As the tree names it, whatever a file's folder was called.
                path.clone_into(&mut folder.path);
            }
        }
        Ok(())
    }

    /// Returns the next changes.
    pub async fn changed(&self) -> io::Result<TreeChanges> {
        loop {
            let mut ready = self.events.readable().await?;
            match ready.try_io(|events| self.read(events.get_ref())) {
                Ok(Ok(changes)) if changes.is_empty() => {}
                Ok(changes) => return changes,
                Err(_) => {}
            }
        }
    }

    /// Reads all pending events. Fails with `WouldBlock` if none is of a watched file.
    fn read(&self, events: &OwnedFd) -> io::Result<TreeChanges> {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = inotify::Reader::new(events, &mut buffer);
        let mut changes = TreeChanges::default();
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) if !changes.is_empty() => return Ok(changes),
                Err(error) => return Err(error.into()),
            };
            changes.more |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            let name = OsStr::from_bytes(name.to_bytes());
            let names = folder.names.as_ref();
            if names.is_none_or(|names| names.contains(name)) {
                changes.add(folder.path.join(name));
            }
        }
    }
}

/// Returns the names of a folder's folders. One that cannot be read has none.
fn subfolders(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name())
        .collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn names(changes: &TreeChanges, root: &Path) -> Vec<PathBuf> {
        let names = changes
            .paths
            .iter()
            .map(|path| path.strip_prefix(root).unwrap());
        names.map(Path::to_owned).collect()
    }

    #[tokio::test]
    async fn changes_in_a_tree_are_reported_and_those_left_out_are_not() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir_all(path("target/deep")).unwrap();
        fs::write(path("a/b/old"), "").unwrap();
        let mut watch = TreeWatch::new(10).unwrap();
        watch
            .add_tree(root.path(), &|path| path == Path::new("target"))
            .unwrap();

        fs::write(path("target/deep/file"), "").unwrap();
        fs::read(path("a/b/old")).unwrap();
        assert!(watch.changed().now_or_never().is_none());

        fs::write(path("a/b/new"), "").unwrap();
        fs::remove_file(path("a/b/old")).unwrap();
        fs::create_dir(path("a/c")).unwrap();
        let changes = watch.changed().await.unwrap();
        assert_eq!(
            names(&changes, root.path()),
            ["a/b/new", "a/b/old", "a/c"].map(PathBuf::from)
        );
        assert!(watch.changed().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_file_is_watched_alone_unless_its_folder_is() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let mut watch = TreeWatch::new(10).unwrap();
        watch.add_file(&path("ci.yml")).unwrap();
        watch.add_file(&path("vars.yml")).unwrap();
        fs::write(path("other"), "").unwrap();
        assert!(watch.changed().now_or_never().is_none());
        fs::write(path("vars.yml"), "").unwrap();
        let changes = watch.changed().await.unwrap();
        assert_eq!(names(&changes, root.path()), [PathBuf::from("vars.yml")]);
        watch.add_tree(root.path(), &|_| false).unwrap();
        fs::write(path("other"), "").unwrap();
        watch.changed().await.unwrap();
    }

    #[tokio::test]
    async fn hostile_trees_end_at_the_limit() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::create_dir(root.path().join(format!("{number}"))).unwrap();
        }
        let mut watch = TreeWatch::new(10).unwrap();
        let refused = watch.add_tree(root.path(), &|_| false).unwrap_err();
        assert!(matches!(refused, TreeWatchError::TooMany { limit: 10 }));
        for number in 0..2 * MAX_PATHS {
            fs::write(root.path().join(format!("f{number}")), "").unwrap();
        }
        let changes = watch.changed().await.unwrap();
        assert!(changes.more && changes.paths.len() == MAX_PATHS);
    }
}
