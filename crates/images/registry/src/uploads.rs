//! Blobs on their way in, in one piece or in many. They are hashed as they come, and known to this
//! process alone: after a restart clients begin again.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_oci::Digest;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{fs::File, io::AsyncWriteExt as _, sync::Mutex as Turn};

use crate::{Error, RepositoryName};

/// Each holds a file open.
const MAX_UPLOADS: usize = 256;
/// Silence of a client within a piece, or between two pieces, after which an upload ends.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(3600);

#[derive(Default)]
pub(crate) struct Uploads {
    open: Mutex<HashMap<String, Arc<Turn<Upload>>>>,
}

pub(crate) struct Upload {
    repository: RepositoryName,
    path: PathBuf,
    file: File,
    hash: Sha256,
    written: u64,
    touched: Instant,
}

impl Uploads {
    pub(crate) async fn begin(
        &self,
        repository: &RepositoryName,
        path: PathBuf,
    ) -> Result<String, Error> {
        self.sweep();
        let file = File::create(&path)
            .await
            .map_err(Error::at("write", &path))?;
        let upload = Upload {
            repository: repository.clone(),
            path,
            file,
            hash: Sha256::new(),
            written: 0,
            touched: Instant::now(),
        };
        let id = format!("{:032x}", rand::random::<u128>());
        let mut open = self.open.lock();
        if open.len() >= MAX_UPLOADS {
            return Err(Error::Busy);
        }
        open.insert(id.clone(), Arc::new(Turn::new(upload)));
        Ok(id)
    }

    /// Finds an upload of this repository; one that was begun in another repository is not found.
    pub(crate) async fn find(
        &self,
        repository: &RepositoryName,
        id: &str,
    ) -> Result<Arc<Turn<Upload>>, Error> {
        let found = self.open.lock().get(id).cloned();
        let found = found.ok_or(Error::NoUpload)?;
        if found.lock().await.repository == *repository {
            Ok(found.clone())
        } else {
            Err(Error::NoUpload)
        }
    }

    /// Forgets the upload. Its file is removed by the last request that uses it.
    pub(crate) fn forget(&self, id: &str) {
        self.open.lock().remove(id);
    }

    pub(crate) fn sweep(&self) {
        let in_use = |upload: &Arc<Turn<Upload>>| {
            let upload = upload.try_lock();
            upload.is_ok_and(|upload| upload.touched.elapsed() > IDLE)
        };
        self.open.lock().retain(|_, upload| !in_use(upload));
    }
}

impl Upload {
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all of a piece. If it ends too early, what came is kept and the client may go on from
    /// there.
    pub(crate) async fn append<B>(&mut self, body: B) -> Result<(), Error>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: std::error::Error,
    {
        let mut body = pin!(body);
        loop {
            let frame = tokio::time::timeout(CLIENT_TIMEOUT, body.frame()).await;
            self.touched = Instant::now();
            let frame = match frame {
                Err(_) => return Err(Error::Cut("no data arrived in time".to_owned())),
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(Error::Cut(airside_model::chain(&error))),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let written = self.file.write_all(&data).await;
            written.map_err(Error::at("write", &self.path))?;
            self.hash.update(&data);
            self.written += data.len() as u64;
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.file.flush().await;
        flushed.map_err(Error::at("write", &self.path))
    }

    /// Checks the digest of everything that came, and syncs it to the disk.
    pub(crate) async fn verify(&mut self, expected: &Digest) -> Result<(), Error> {
        let actual = hex::encode(self.hash.clone().finalize());
        if actual != expected.hex() {
            let expected = expected.clone();
            return Err(Error::Mismatch { expected, actual });
        }
        self.flush().await?;
        let synced = self.file.sync_data().await;
        synced.map_err(Error::at("write", &self.path))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // It is gone already if it became a blob.
        let _ = fs::remove_file(&self.path);
    }
}
