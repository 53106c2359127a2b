//! The list of installations that have something on this machine: a file for each, locked by its
//! server for as long as that lives. By it the next server that starts, of whichever installation,
//! finds what one left that was killed.
//!
//! ```text
//! /run/airside/installations/<installation>   its containers' folder, and whether it may come back
//! ```
//!
//! An ordinary user's are below `$XDG_RUNTIME_DIR`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use airside_model::{InstallationId, chain};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use tracing::debug;

use crate::{LocalOptions, rootless};

const FOLDER: &str = "/run/airside/installations";

/// Number of tries to lock our file: another server that looks whether we live holds it for a
/// moment.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// The promise that this server is here.
#[derive(Debug)]
pub(crate) struct Presence(#[allow(dead_code, reason = "locked for as long as it lives")] File);

/// The facts about an installation that others need when its server is dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Here {
    /// Folder below which the server's containers are.
    pub root: PathBuf,
    /// Device of the root: a root that is gone while its device is there was removed, and not
    /// unmounted.
    pub device: u64,
    /// The data folder, if it is of use to one process only: then no other comes back to it.
    pub temporary: Option<PathBuf>,
}

impl Here {
    fn of(options: &LocalOptions) -> io::Result<Self> {
        Ok(Self {
            device: fs::metadata(&options.root)?.dev(),
            root: options.root.clone(),
            temporary: options.temporary.clone(),
        })
    }

    /// True if the root was removed, so that no server can find it again.
    pub(crate) fn is_gone(&self) -> bool {
        let missing = fs::symlink_metadata(&self.root)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let above = self
            .root
            .ancestors()
            .find_map(|path| fs::metadata(path).ok());
        missing && above.is_some_and(|above| above.dev() == self.device)
    }
}

impl Presence {
    /// Notes that the installation is here. Returns none if that fails: then nothing cleans up
    /// after a kill, and nothing else is amiss.
    pub(crate) fn enter(options: &LocalOptions) -> Option<Self> {
        let entered = folder()
            .ok_or_else(|| io::Error::other("XDG_RUNTIME_DIR is not set"))
            .and_then(|folder| enter_in(&folder, &options.installation, &Here::of(options)?));
        match entered {
            Ok(file) => Some(Self(file)),
            Err(error) => {
                debug!(
                    error = %chain(&error),
                    "presence of this server not noted: nothing cleans up after a kill"
                );
                None
            }
        }
    }
}

/// The folder of the list, which only the user may write to whose servers are in it.
pub(crate) fn folder() -> Option<PathBuf> {
    if !rootless::is_inside() {
        return Some(FOLDER.into());
    }
    let own = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    own.is_absolute().then(|| own.join("airside/installations"))
}

pub(crate) fn enter_in(
    folder: &Path,
    installation: &InstallationId,
    here: &Here,
) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o711).create(folder)?;
    let path = folder.join(installation.as_str());
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.mode(0o600).open(&path)?;
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Another who held it may have removed it.
        if locked && fs::metadata(&path).is_ok_and(|there| is_same(&there, &file)) {
            file.set_len(0)?;
            file.write_all(&serde_json::to_vec(here)?)?;
            return Ok(file);
        }
        thread::sleep(PAUSE);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn is_same(there: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|own| own.ino() == there.ino())
}

/// Takes the installation off the list.
pub(crate) fn leave(installation: &InstallationId) {
    if let Some(folder) = folder() {
        let _ = fs::remove_file(folder.join(installation.as_str()));
    }
}

/// An installation whose server is dead. Its next server waits to start as long as this is held.
#[derive(Debug)]
pub(crate) struct Dead {
    pub installation: InstallationId,
    pub here: Here,
    _lock: File,
}

/// Returns the dead installations lazily: no more than one is held at a time, unless they are
/// collected.
pub(crate) fn dead_in(folder: &Path) -> impl Iterator<Item = Dead> + use<> {
    let folder = folder.to_owned();
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(move |name| {
        let (lock, here) = lock_if_dead(&folder.join(&name))?;
        Some(Dead {
            installation: InstallationId::new(name),
            here,
            _lock: lock,
        })
    })
}

fn lock_if_dead(path: &Path) -> Option<(File, Here)> {
    let mut file = File::open(path).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Another may have taken it away meanwhile, and its server have come back.
    fs::metadata(path)
        .is_ok_and(|there| is_same(&there, &file))
        .then_some(())?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    // Half-written, its containers can be anywhere.
    Some((file, read(&text)?))
}

/// Earlier versions wrote the path of the root and nothing else.
fn read(text: &str) -> Option<Here> {
    if text.starts_with('/') {
        return Some(Here {
            root: text.into(),
            device: 0,
            temporary: None,
        });
    }
    serde_json::from_str(text).ok()
}
