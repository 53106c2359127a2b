//! The data folder of `airside up`: one server's database, logs, volumes and keys; or what an agent
//! keeps.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use airside_model::{InstallationId, chain};
use airside_rootfs::Images;
use airside_runtime_local::DATA_LOCK;
use anyhow::{Context, Result, bail};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};
use tracing::debug;

pub(crate) struct DataFolder {
    path: PathBuf,
    is_temporary: bool,
    /// The folders that this process made for it, innermost first.
    made: Vec<PathBuf>,
    /// The store of images, if it is not in the folder.
    images: Option<Images>,
    /// Lock that is held for as long as the server lives.
    _lock: File,
}

impl DataFolder {
    /// Opens the folder for this process alone.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let made = missing(path);
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
                made,
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

    /// Removes the folder if this process made it. A server that could not start leaves nothing; a
    /// folder that was there before stays as it is.
    pub(crate) fn discard_new(self) {
        let mut made = self.made.iter();
        let Some(own) = made.next() else {
            return;
        };
        if let Err(error) = airside_archive::remove(own) {
            debug!(folder = %own.display(), error = %chain(&error), "new data folder not removed");
        }
        // Those around it only while they are empty: others may use them by now.
        for folder in made {
            let _ = fs::remove_dir(folder);
        }
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

    /// Returns a password for the first user, where none was given, and true if it was made just
    /// now. An administrator may write another one into the file.
    pub(crate) fn password(&self) -> Result<(String, bool)> {
        let mut is_new = false;
        let fresh = || {
            is_new = true;
            hex::encode(rand::random::<[u8; 8]>()).into_bytes()
        };
        let password = String::from_utf8(self.private_file("password", fresh)?)?;
        let password = password.trim_end_matches(['\n', '\r']);
        if password.is_empty() {
            bail!(
                "{} is empty; write a password into it, or remove it and a new one is made",
                self.join("password").display()
            );
        }
        Ok((password.to_owned(), is_new))
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

/// Returns a folder and those around it that do not exist, innermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let all = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    all.take_while(|part| !part.exists())
        .map(Path::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_is_discarded_and_an_old_one_stays() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("a/b/data");
        let data = DataFolder::open(&inner).unwrap();
        data.encryption_key().unwrap();
        data.discard_new();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);

        drop(DataFolder::open(&inner).unwrap());
        fs::write(inner.join("mine"), "").unwrap();
        DataFolder::open(&inner).unwrap().discard_new();
        assert!(inner.join("mine").exists());
    }

    #[test]
    fn a_password_is_made_once_and_may_be_replaced() {
        let home = tempfile::tempdir().unwrap();
        let data = DataFolder::open(home.path()).unwrap();
        let (first, is_new) = data.password().unwrap();
        assert!(is_new && first.len() == 16);
        assert_eq!(data.password().unwrap(), (first, false));
        fs::write(home.path().join("password"), "mine\n").unwrap();
        assert_eq!(data.password().unwrap(), ("mine".to_owned(), false));
        fs::write(home.path().join("password"), "\n").unwrap();
        let error = data.password().unwrap_err().to_string();
        assert!(error.contains("/password is empty"), "{error}");
    }
}
