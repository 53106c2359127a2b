//! The data folder of `airside up`: one server's database, logs, volumes and keys; or what an agent
//! keeps.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use airside_model::InstallationId;
use airside_rootfs::Images;
use airside_runtime_local::DATA_LOCK;
use anyhow::{Context, Result, bail};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};

pub(crate) struct DataFolder {
    path: PathBuf,
    is_temporary: bool,
    /// The store of images, if it is not in the folder.
    images: Option<Images>,
    /// Held for as long as the server lives.
    _lock: File,
}

impl DataFolder {
    /// Opens the folder for this process alone.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot make the data folder {shown}"))?;
        let path = path.canonicalize()?;
        let lock = File::create(path.join(DATA_LOCK))
            .with_context(|| format!("cannot write to the data folder {shown}"))?;
        // A record lock: unlike flock's it is this process's alone. A helper that was just being
        // started when a server was killed would hold the other for a moment, and the next server
        // be refused.
        match fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                path,
                is_temporary: false,
                images: None,
                _lock: lock,
            }),
            Err(Errno::AGAIN | Errno::ACCESS) => bail!(
                "another airside uses the data folder {shown}; stop it, or give this one a folder of \
                 its own with --data"
            ),
            Err(error) => {
                Err(error).with_context(|| format!("cannot lock the data folder {shown}"))
            }
        }
    }

    /// Opens a folder that is of use to this process only.
    pub(crate) fn open_temporary(path: &Path) -> Result<Self> {
        let is_temporary = true;
        Ok(Self {
            is_temporary,
            ..Self::open(path)?
        })
    }

    /// Keeps images elsewhere.
    pub(crate) fn with_images(self, images: Option<Images>) -> Self {
        Self { images, ..self }
    }

    /// The store of images, if it is not in the folder.
    pub(crate) fn images(&self) -> Option<Images> {
        self.images.clone()
    }

    /// The folder itself, if it is of use to this process only.
    pub(crate) fn temporary(&self) -> Option<&Path> {
        self.is_temporary.then_some(self.path.as_path())
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The key that seals what a resume needs, made on first use.
    pub(crate) fn encryption_key(&self) -> Result<Vec<u8>> {
        let fresh = || rand::random::<[u8; 32]>().to_vec();
        self.private_file("encryption-key", fresh)
    }

    /// A password for the first user, where none was given; and whether it was made up just now.
    pub(crate) fn password(&self) -> Result<(String, bool)> {
        let mut is_new = false;
        let fresh = || {
            is_new = true;
            hex::encode(rand::random::<[u8; 8]>()).into_bytes()
        };
        let password = String::from_utf8(self.private_file("password", fresh)?)?;
        Ok((password, is_new))
    }

    /// Returns the id of an agent's installation on its machine, made on first use.
    pub(crate) fn installation(&self) -> Result<InstallationId> {
        let fresh = || format!("a{}", hex::encode(rand::random::<[u8; 8]>())).into_bytes();
        let name = String::from_utf8(self.private_file("installation", fresh)?)?;
        Ok(InstallationId::new(name))
    }

    /// The hub that an agent dials, by its pin: what the folder holds belongs to that one's server.
    pub(crate) fn belongs_to(&self, pin: &str) -> Result<()> {
        let known = self.private_file("hub-pin", || pin.as_bytes().to_vec())?;
        if known != pin.as_bytes() {
            bail!(
                "{} belongs to an agent of another server, or that server has a new key; choose another folder with \
                 --state, or remove this one once nothing of that agent runs here",
                self.path.display()
            );
        }
        Ok(())
    }

    /// The hub's port of an earlier start: shims that are still running look for it there.
    pub(crate) fn hub_port(&self) -> Option<u16> {
        fs::read_to_string(self.join("hub-port"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    pub(crate) fn save_hub_port(&self, port: u16) -> Result<()> {
        fs::write(self.join("hub-port"), port.to_string()).context("cannot keep the hub's port")
    }

    /// Reads a file that only its owner can read, or makes it.
    fn private_file(&self, name: &str, fresh: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>> {
        let path = self.join(name);
        let context = || format!("cannot use {}", path.display());
        if let Ok(mut file) = File::open(&path) {
            let mut content = Vec::new();
            file.read_to_end(&mut content).with_context(context)?;
            return Ok(content);
        }
        let content = fresh();
        let scratch = path.with_extension("new");
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&scratch)
            .with_context(context)?;
        file.write_all(&content).with_context(context)?;
        file.sync_all().with_context(context)?;
        fs::rename(scratch, &path).with_context(context)?;
        Ok(content)
    }
}
