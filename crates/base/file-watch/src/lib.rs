//! Reports that a file was written, or that another took its place; and changes in whole trees.
//!
//! The kernel's inotify does the watching; nothing is polled. A watch says that the file may have
//! changed, never to what: the caller reads it again.

#![allow(
    unsafe_code,
    reason = "inotify has no safe wrapper among the dependencies"
)]

mod tree;

use std::{
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

pub use tree::{TreeChanges, TreeWatch, TreeWatchError};

/// The link that Kubernetes renames when it replaces the files of a mounted ConfigMap or Secret.
const MOUNTED: &str = "..data";

/// A watch on one file. It watches the folder, since replacing a file leaves the old one as it was.
pub struct FileWatch {
    events: AsyncFd<OwnedFd>,
    name: OsString,
}

impl FileWatch {
    /// Watches `file`, which need not exist; its folder must.
    pub fn new(file: &Path) -> io::Result<Self> {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        inotify::add_watch(&events, folder, flags)?;
        // SAFETY: the descriptor stays open and the same for as long as it is registered: `Self`
        // owns it alone and never hands it out.
        let registered = unsafe { AsyncFd::register(events) };
        Ok(Self {
            events: registered.map_err(io::Error::from)?,
            name: file.file_name().unwrap_or_default().to_owned(),
        })
    }

    /// Returns when the file may have changed since the watch began or the last call returned.
    pub async fn changed(&self) -> io::Result<()> {
        loop {
            let mut ready = self.events.readable().await?;
            match ready.try_io(|events| self.has_changed(events.get_ref())) {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) | Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
    }

    /// Reads all pending events. Returns true if one is of this file, and fails with `WouldBlock`
    /// if none is.
    fn has_changed(&self, events: &OwnedFd) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(events, &mut buffer);
        let mut is_ours = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event
                        .file_name()
                        .map(|name| OsStr::from_bytes(name.to_bytes()));
                    is_ours |= name.is_some_and(|name| name == self.name || name == MOUNTED);
                }
                Err(rustix::io::Errno::AGAIN) if is_ours => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn writing_replacing_and_remounting_are_reported_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("targets.yml"), "1").unwrap();
        let watch = FileWatch::new(&path("targets.yml")).unwrap();
        std::fs::write(path("other.yml"), "1").unwrap();
        assert!(watch.changed().now_or_never().is_none());

        std::fs::write(path("targets.yml"), "2").unwrap();
        watch.changed().await.unwrap();
        std::fs::rename(path("other.yml"), path("targets.yml")).unwrap();
        watch.changed().await.unwrap();
        std::os::unix::fs::symlink("nowhere", path("..data_tmp")).unwrap();
        std::fs::rename(path("..data_tmp"), path("..data")).unwrap();
        watch.changed().await.unwrap();
        assert!(
            watch.changed().now_or_never().is_none(),
            "nothing is reported twice"
        );
    }

    #[tokio::test]
    async fn a_folder_that_does_not_exist_is_refused() {
        assert!(FileWatch::new(Path::new("/no/such/folder/targets.yml")).is_err());
    }
}
