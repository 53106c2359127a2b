//! Root file systems for steps on this machine, from OCI image layouts and registries.
//!
//! ```text
//! root/images/<digest>/rootfs/      the image's layers, merged
//! root/images/<digest>/image.json   environment and user; written last
//! root/images/<digest>/proofs.json  which teams may have it
//! root/images/<digest>/size         bytes, where they were asked for
//! root/tmp/…                        downloads and half-made images; swept when opened
//! ```
//!
//! Each image is merged once into one folder, named by its manifest's digest, and then shared by
//! every step as the read-only lower folder of an overlay. Merged rather than one folder per layer:
//! an overlay of one folder mounts fastest, needs no whiteouts on disk and has no limit on layers;
//! what it costs is that images with common layers each hold them.
//!
//! The time of its `image.json` is the time at which an image was last asked for. The owner of a
//! [`Rootfs`] holds a lease on it: it is not removed meanwhile. Several processes may share a
//! store, as `airside run`s do: each has a folder of its own in `tmp`, and leases are locks.
//!
//! This process reads nothing that a stranger sent but documents that were checked by their digest.
//! Registries are asked, and layers unpacked, by confined processes ([`puller`]) without its
//! environment. Nothing here knows of steps.

mod assemble;
mod confined;
mod counter;
mod error;
mod idle;
mod layout;
mod proofs;
mod pull;
pub mod puller;
mod registry;
mod stored;
mod unpack;
mod wire;

use std::{
    collections::HashMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use airside_model::chain;
pub use airside_oci::Digest;
use airside_pulls::PullProgress;
use airside_resource_types::{Mirrors, Object};
use airside_volumes::{OwnFolder, Percent, Watermarks};
use confined::Confined;
pub use error::{Error, PullFault};
pub use idle::Lease;
use layout::Layout;
pub use stored::StoredImage;

/// The origin of an image.
#[derive(Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// A folder with `index.json` and `blobs`.
    OciLayout(PathBuf),
    /// `name:tag` or `name@digest`, and the other settings of a `registry-image`'s source.
    /// Registries on this machine's loopback may speak plain HTTP. An image that is here already is
    /// given only to a team that its registry gives it to. `team` is a key that no later team has.
    Registry {
        reference: String,
        source: Object,
        team: String,
    },
}

/// Takes the progress of a pull: at most a few times a second, with numbers that are
/// [bounded](PullProgress::bounded).
pub type PullListener<'a> = &'a (dyn Fn(PullProgress) + Send + Sync + 'a);

/// Settings of an image store.
#[derive(Clone)]
pub struct Options {
    /// Program and leading arguments of the confined processes: `airside puller`.
    pub program: Vec<OsString>,
    /// Other places to pull from.
    pub mirrors: Mirrors,
    /// Disk usage above which nothing is pulled.
    pub fullest: Percent,
    /// Given if several processes use the store at once: a name for those of this process's teams,
    /// which are other teams than those of the same name elsewhere.
    pub shared_by: Option<String>,
}

impl Options {
    pub fn new(program: Vec<OsString>) -> Self {
        Self {
            program,
            mirrors: Mirrors::default(),
            fullest: Watermarks::default().high,
            shared_by: None,
        }
    }
}

/// An image that is ready to be the lower folder of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rootfs {
    /// Topmost first, as overlayfs takes them. Today always one.
    pub layers: Vec<PathBuf>,
    /// `NAME=value`, as the image has it.
    pub env: Vec<String>,
    pub user: Option<String>,
    /// The manifest's digest.
    pub digest: Digest,
    /// While it lives the image stays.
    pub lease: Lease,
}

/// A handle to the image store; clones share it.
#[derive(Clone)]
pub struct Images {
    inner: Arc<Inner>,
}

struct Inner {
    images: PathBuf,
    tmp: PathBuf,
    next: AtomicU64,
    mirrors: Mirrors,
    fullest: Percent,
    shared_by: Option<String>,
    /// The folder that `tmp` is, if the store is shared.
    _own_tmp: Option<OwnFolder>,
    confined: Confined,
    /// One image is made by one caller; the others wait and find it.
    making: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>,
    /// The leases of images that are in use.
    leases: Mutex<HashMap<Digest, Lease>>,
}

impl Images {
    /// Opens the store and removes what an interrupted run left. One process at a time, unless the
    /// options say that it is shared.
    pub fn open(root: &Path, options: Options) -> Result<Self, Error> {
        let (images, tmp) = (root.join("images"), root.join("tmp"));
        make_folder(&images)?;
        let own_tmp = match options.shared_by {
            Some(_) => Some(OwnFolder::below(&tmp).map_err(Error::disk(&tmp))?),
            None => None,
        };
        let tmp = match &own_tmp {
            Some(own) => own.path().to_owned(),
            None => {
                airside_archive::set_aside(&tmp).map_err(Error::disk(&tmp))?;
                make_folder(&tmp)?;
                tmp
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                images,
                tmp,
                next: AtomicU64::new(0),
                mirrors: options.mirrors,
                fullest: options.fullest,
                shared_by: options.shared_by,
                _own_tmp: own_tmp,
                confined: Confined::new(options.program),
                making: Mutex::default(),
                leases: Mutex::default(),
            }),
        })
    }

    /// Makes the image's root file system, unless it is there already.
    pub async fn ensure(&self, image: &ImageSource) -> Result<Rootfs, Error> {
        self.ensure_reporting(image, &|_| ()).await
    }

    /// [`Images::ensure`] that reports the progress of what this call itself pulls. A pull that it
    /// waits for may be another team's, whose image is none of this caller's business.
    pub async fn ensure_reporting(
        &self,
        image: &ImageSource,
        listener: PullListener<'_>,
    ) -> Result<Rootfs, Error> {
        match image {
            ImageSource::OciLayout(path) => self.layout_image(path, listener).await,
            ImageSource::Registry {
                reference,
                source,
                team,
            } => self.registry_image(reference, source, team, listener).await,
        }
    }

    async fn layout_image(&self, path: &Path, listener: PullListener<'_>) -> Result<Rootfs, Error> {
        let layout = Layout::new(path);
        let (layout, found) = blocking(move || {
            let found = layout.image()?;
            Ok((layout, found))
        })
        .await?;
        let (digest, manifest) = found;
        let _turn = self.turn(&digest).await;
        match self.ready(&digest)? {
            Some(rootfs) => Ok(rootfs),
            None => {
                self.assemble(digest, manifest, layout, None, listener)
                    .await
            }
        }
    }

    /// Puts an image that is whole where it is looked for.
    fn settle(&self, work: &Scratch, digest: &Digest) -> Result<Rootfs, Error> {
        let place = self.place(digest);
        match fs::rename(&work.0, &place) {
            Ok(()) => {}
            // Another process that shares the store was faster.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(error) => return Err(Error::disk(&place)(error)),
        }
        self.ready(digest)?.ok_or_else(|| Error::Missing {
            what: digest.to_string(),
        })
    }

    fn ready(&self, digest: &Digest) -> Result<Option<Rootfs>, Error> {
        match self.lease(digest)? {
            Some(lease) => assemble::read(&self.place(digest), digest.clone(), lease),
            None => Ok(None),
        }
    }

    fn is_shared(&self) -> bool {
        self.inner.shared_by.is_some()
    }

    /// The name under which it is noted that a team may have an image.
    fn owner(&self, team: &str) -> String {
        match &self.inner.shared_by {
            Some(name) => format!("{name}/{team}"),
            None => team.to_owned(),
        }
    }

    fn place(&self, digest: &Digest) -> PathBuf {
        self.inner.images.join(digest.hex())
    }

    async fn turn(&self, digest: &Digest) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut making = self
                .inner
                .making
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            making.entry(digest.clone()).or_default().clone()
        };
        lock.lock_owned().await
    }

    fn fresh(&self) -> Result<Scratch, Error> {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let dir = self.inner.tmp.join(number.to_string());
        fs::create_dir(&dir).map_err(Error::disk(&dir))?;
        Ok(Scratch(dir))
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(path);
    made.map_err(Error::disk(path))
}

/// A folder that goes away again, unless it was renamed in the meantime.
struct Scratch(PathBuf);

impl Scratch {
    /// Removes the folder where that may take its time.
    async fn discard(self) {
        let _ = blocking(move || {
            drop(self);
            Ok(())
        })
        .await;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = airside_archive::remove(&self.0) {
            tracing::warn!(
                path = %self.0.display(), error = %chain(&error),
                "scratch folder not removed"
            );
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    airside_tasks::blocking("image", work).await?
}
