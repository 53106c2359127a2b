//! The files of a container on disk, and its state after a crash as they show it.
//!
//! ```text
//! containers/<handle>/
//!   lock          held by the process that makes or removes the container, the helper included
//!   record.json   written before the helper is asked
//!   init.json     written by the helper between creating and starting: from here on it is never
//!                 made again
//!   started       written by the helper once the shim was started
//!   rootfs/ upper/ work/ outputs/   its files
//! ```

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use airside_model::{Handle, InstallationId};
use airside_oci::Digest;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, process::Process};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub handle: Handle,
    pub installation: InstallationId,
    pub spec_hash: String,
    /// Paths in the container at which outputs are mounted, each with its folder below `outputs`.
    pub outputs: BTreeMap<String, String>,
    /// The image that it stands on, if that is one of the machine's.
    #[serde(default)]
    pub image: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Absent,
    Running(Process),
    Dead,
}

#[derive(Clone, Debug)]
pub(crate) struct ContainerDir {
    path: PathBuf,
}

/// The lock of a container. While it lives, no other process makes or removes the container.
pub(crate) struct Lock(pub File);

impl ContainerDir {
    pub(crate) fn new(containers: &Path, handle: &Handle) -> Result<Self, Error> {
        Ok(Self {
            path: containers.join(plain_name(handle.as_str())?),
        })
    }

    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn output(&self, folder: &str) -> PathBuf {
        self.path.join("outputs").join(folder)
    }

    /// Takes the lock, making the folder if need be. Waits for a helper that is still at work, even
    /// one that an earlier server started: the helper inherits the lock.
    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        let path = self.join("lock");
        loop {
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(0o700)
                .create(&self.path)
                .map_err(Error::disk(&path))?;
            let mut options = OpenOptions::new();
            let file = match options
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
            {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(Error::disk(&path))?,
            };
            rustix::fs::flock(&file, FlockOperation::LockExclusive)
                .map_err(|error| Error::disk(&path)(error.into()))?;
            // While we waited the container may have been removed, lock and all.
            let ours = file.metadata().map_err(Error::disk(&path))?;
            if fs::metadata(&path).is_ok_and(|there| there.ino() == ours.ino()) {
                return Ok(Lock(file));
            }
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    pub(crate) fn record(&self) -> Result<Option<Record>, Error> {
        self.read("record.json")
    }

    pub(crate) fn init(&self) -> Result<Option<Process>, Error> {
        self.read("init.json")
    }

    /// Returns the status; only with the lock, since a helper may be at work without it.
    pub(crate) fn status(&self) -> Result<Status, Error> {
        // Without a first process nothing has run: it may be made from the start.
        if self.record()?.is_none() || self.init()?.is_none() {
            return Ok(Status::Absent);
        }
        match self.init()? {
            Some(process) if self.join("started").exists() && process.open().is_some() => {
                Ok(Status::Running(process))
            }
            _ => Ok(Status::Dead),
        }
    }

    pub(crate) fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Error> {
        let (path, partial) = (self.join(name), self.join(&format!("{name}.new")));
        let text = serde_json::to_vec(value)
            .map_err(|error| Error::disk(&path)(io::Error::other(error)))?;
        // The bundle holds the claim's token.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&partial)
            .and_then(|mut file| io::Write::write_all(&mut file, &text))
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(Error::disk(&path))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let path = self.join(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::disk(&path)(error)),
        };
        let parsed = serde_json::from_slice(&text);
        parsed
            .map(Some)
            .map_err(|error| Error::disk(&path)(error.into()))
    }
}

/// A name that stays one component of a path.
pub(crate) fn plain_name(name: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 200 || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    Ok(name)
}
