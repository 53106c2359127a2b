//! News of a file: somebody wrote it, or put another in its place.

use std::{
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

/// What Kubernetes renames when it replaces the files of a mounted ConfigMap or Secret.
const MOUNTED: &str = "..data";

/// Watches the folder, since whoever replaces a file leaves the old one as it was.
pub(super) struct News {
    events: AsyncFd<OwnedFd>,
    name: OsString,
}

impl News {
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        inotify::add_watch(&events, folder, flags)?;
        // SAFETY: it stays the same open file for as long as it is registered: nobody else has it, and `Self` never
        // gives it away.
        let registered = unsafe { AsyncFd::register(events) };
        Ok(Self {
            events: registered.map_err(io::Error::from)?,
            name: file.file_name().unwrap_or_default().to_owned(),
        })
    }

    /// Returns when the file may be another.
    pub(super) async fn wait(&self) -> io::Result<()> {
        loop {
            let mut ready = self.events.readable().await?;
            match ready.try_io(|events| self.concern_us(events.get_ref())) {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) | Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
    }

    /// Reads all events there are. Would block: there are none.
    fn concern_us(&self, events: &OwnedFd) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(events, &mut buffer);
        let mut ours = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event
                        .file_name()
                        .map(|name| OsStr::from_bytes(name.to_bytes()));
                    ours |= name.is_some_and(|name| name == self.name || name == MOUNTED);
                }
                Err(rustix::io::Errno::AGAIN) if ours => return Ok(true),
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
    async fn writing_replacing_and_remounting_are_news_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("targets.yml"), "1").unwrap();
        let news = News::of(&path("targets.yml")).unwrap();
        std::fs::write(path("other.yml"), "1").unwrap();
        assert!(news.wait().now_or_never().is_none());

        std::fs::write(path("targets.yml"), "2").unwrap();
        news.wait().await.unwrap();
        std::fs::rename(path("other.yml"), path("targets.yml")).unwrap();
        news.wait().await.unwrap();
        std::os::unix::fs::symlink("nowhere", path("..data_tmp")).unwrap();
        std::fs::rename(path("..data_tmp"), path("..data")).unwrap();
        news.wait().await.unwrap();
        assert!(
            news.wait().now_or_never().is_none(),
            "nothing is told twice"
        );
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there() {
        assert!(News::of(Path::new("/no/such/folder/targets.yml")).is_err());
    }
}
