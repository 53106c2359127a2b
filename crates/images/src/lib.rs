//! Root file systems for steps on this machine, from OCI image layouts and registries.
//!
//! ```text
//! root/images/<digest>/rootfs/      the image's layers, merged
//! root/images/<digest>/image.json   environment and user; written last
//! root/images/<digest>/proofs.json  which teams may have it
//! root/tmp/…                        downloads and half-made images; swept when opened
//! ```
//!
//! Each image is merged once into one folder, named by its manifest's digest, and then shared by every
//! step as the read-only lower folder of an overlay. Merged rather than one folder per layer: an
//! overlay of one folder mounts fastest, needs no whiteouts on disk and has no limit on layers; what
//! it costs is that images with common layers each hold them.
//!
//! When an image was last asked for is the time of its `image.json`. Whoever has a [`Rootfs`] holds a lease
//! on it: it is not removed meanwhile.
//!
//! This process reads nothing that a stranger sent but documents that were checked by their digest. Registries are asked,
//! and layers unpacked, by confined processes ([`puller`]) without its environment. Nothing here knows of steps.

#![forbid(unsafe_code)]

mod assemble;
mod confined;
mod document;
mod error;
mod idle;
mod layout;
mod proofs;
pub mod puller;
mod registry;
mod unpack;
mod wire;

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub use airside_model::image::Digest;
use airside_resources::{Mirrors, Object};
use airside_volumes::{Disk, Percent, Watermarks};
use confined::Confined;
use document::Manifest;
pub use error::Error;
pub use idle::Lease;
use layout::Layout;
use proofs::{Proofs, Standing};
use registry::Image;
use wire::{Answer, Ask};

/// Bytes of an image, as it is fetched and as it is unpacked: beyond any in use.
const MOST_BYTES: u64 = 64 << 30;

/// Where an image comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// A folder with `index.json` and `blobs`.
    OciLayout(PathBuf),
    /// `name:tag` or `name@digest`, and what else a `registry-image` says in its source. Registries on this
    /// machine's loopback may speak plain HTTP. An image that is here already is given only to a team that its registry
    /// gives it to.
    Registry {
        reference: String,
        source: Object,
        team: String,
    },
}

/// How an image store works.
#[derive(Clone)]
pub struct Options {
    /// Program and leading arguments of the confined processes: `airside puller`.
    pub program: Vec<OsString>,
    /// Other places to pull from.
    pub mirrors: Mirrors,
    /// Nothing is pulled while more of the disk is used than that.
    pub fullest: Percent,
}

impl Options {
    pub fn new(program: Vec<OsString>) -> Self {
        Self {
            program,
            mirrors: Mirrors::default(),
            fullest: Watermarks::default().high,
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
    confined: Confined,
    /// One image is made by one caller; the others wait and find it.
    making: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>,
    /// Who uses which image at the moment.
    leases: Mutex<HashMap<Digest, Lease>>,
}

impl Images {
    /// Opens the store and removes what an interrupted run left. One process at a time.
    pub fn open(root: &Path, options: Options) -> Result<Self, Error> {
        let (images, tmp) = (root.join("images"), root.join("tmp"));
        airside_tree::set_aside(&tmp).map_err(Error::disk(&tmp))?;
        for dir in [&images, &tmp] {
            use std::os::unix::fs::DirBuilderExt;
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(Error::disk(dir))?;
        }
        Ok(Self {
            inner: Arc::new(Inner {
                images,
                tmp,
                next: AtomicU64::new(0),
                mirrors: options.mirrors,
                fullest: options.fullest,
                confined: Confined::new(options.program),
                making: Mutex::default(),
                leases: Mutex::default(),
            }),
        })
    }

    /// Makes the image's root file system, unless it is there already.
    pub async fn ensure(&self, image: &ImageSource) -> Result<Rootfs, Error> {
        match image {
            ImageSource::OciLayout(path) => self.layout_image(path).await,
            ImageSource::Registry {
                reference,
                source,
                team,
            } => self.registry_image(reference, source, team).await,
        }
    }

    async fn layout_image(&self, path: &Path) -> Result<Rootfs, Error> {
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
            None => self.assemble(digest, manifest, layout, None).await,
        }
    }

    async fn registry_image(
        &self,
        reference: &str,
        source: &Object,
        team: &str,
    ) -> Result<Rootfs, Error> {
        let image = Image::parse(reference, source, &self.inner.mirrors)?;
        let digest = match image.pinned() {
            Some(digest) => digest.clone(),
            None => self.resolve(&image).await?,
        };
        if let Some(rootfs) = self.ready(&digest)?
            && self.standing(&digest, team, &image)? == Standing::Proved
        {
            return Ok(rootfs);
        }
        let _turn = self.turn(&digest).await;
        let Some(rootfs) = self.ready(&digest)? else {
            return self.pull(&image, &digest, team).await;
        };
        match self.standing(&digest, team, &image)? {
            Standing::Proved => return Ok(rootfs),
            // Whoever just heard the digest from the registry was given it.
            Standing::AskRegistry if image.pinned().is_none() => {}
            Standing::AskRegistry => self.ask_registry(&image, &digest).await?,
            Standing::Fetch => {
                let work = self.fresh()?;
                let brought = self.download(&image, &digest, &work).await;
                work.discard().await;
                brought?;
            }
        }
        let place = self.place(&digest);
        let mut proofs = Proofs::read(&place)?;
        proofs.add(team, &image);
        proofs.write(&place)?;
        Ok(rootfs)
    }

    fn standing(&self, digest: &Digest, team: &str, image: &Image) -> Result<Standing, Error> {
        Ok(Proofs::read(&self.place(digest))?.standing(team, image))
    }

    /// The digest that the image's tag stands for now.
    async fn resolve(&self, image: &Image) -> Result<Digest, Error> {
        let source = image.source().clone();
        match self.ask(image, &Ask::Resolve { source }).await? {
            Answer::Digest(Some(digest)) => Ok(digest),
            Answer::Digest(None) => Err(Error::Missing {
                what: image.name().to_owned(),
            }),
            other => Err(image.explain(other)),
        }
    }

    /// Fails unless the registry gives the image to the source's user.
    async fn ask_registry(&self, image: &Image, digest: &Digest) -> Result<(), Error> {
        let ask = Ask::Has {
            source: image.source().clone(),
            digest: digest.clone(),
        };
        match self.ask(image, &ask).await? {
            Answer::Has(true) => Ok(()),
            Answer::Has(false) => Err(Error::NotYours {
                what: image.name().to_owned(),
            }),
            other => Err(image.explain(other)),
        }
    }

    /// Asks a process whose folder goes away again.
    async fn ask(&self, image: &Image, ask: &Ask) -> Result<Answer, Error> {
        let work = self.fresh()?;
        tracing::debug!(image = image.name(), "asking a registry");
        self.inner.confined.ask(&work.0, ask).await
    }

    /// Fetches an image and unpacks it.
    async fn pull(&self, image: &Image, digest: &Digest, team: &str) -> Result<Rootfs, Error> {
        let work = self.fresh()?;
        let pulled = match self.download(image, digest, &work).await {
            Ok((layout, manifest)) => {
                let mut proofs = Proofs::default();
                proofs.add(team, image);
                self.assemble(digest.clone(), manifest, layout, Some(proofs))
                    .await
            }
            Err(error) => Err(error),
        };
        work.discard().await;
        if pulled.is_ok() {
            tracing::info!(image = %digest, name = image.name(), "pulled an image");
        }
        pulled
    }

    /// Fetches the blobs of an image into a folder, and makes sure that each is what its digest says.
    async fn download(
        &self,
        image: &Image,
        digest: &Digest,
        work: &Scratch,
    ) -> Result<(Layout, Manifest), Error> {
        let folder = work.0.join("download");
        fs::create_dir(&folder).map_err(Error::disk(&folder))?;
        let ask = Ask::Download {
            source: image.source().clone(),
            digest: digest.clone(),
            most: self.room()?,
        };
        match self.inner.confined.ask(&folder, &ask).await? {
            Answer::Done => {}
            other => return Err(image.explain(other)),
        }
        let (layout, digest) = (Layout::new(&folder), digest.clone());
        blocking(move || {
            let manifest = layout.brought(&digest)?;
            layout.verify_layers(&manifest)?;
            Ok((layout, manifest))
        })
        .await
    }

    /// The bytes that may still be written.
    fn room(&self) -> Result<u64, Error> {
        let folder = &self.inner.tmp;
        let disk = Disk::of(folder).map_err(Error::disk(folder))?;
        match disk.room_below(self.inner.fullest) {
            0 => Err(Error::DiskFull {
                path: folder.clone(),
            }),
            room => Ok(room.min(MOST_BYTES)),
        }
    }

    /// Unpacks an image and puts it into its place.
    async fn assemble(
        &self,
        digest: Digest,
        manifest: Manifest,
        layout: Layout,
        proofs: Option<Proofs>,
    ) -> Result<Rootfs, Error> {
        let work = self.fresh()?;
        let unpacked = self.unpack(&manifest, &layout, &work).await;
        let settled = unpacked.and_then(|()| {
            if let Some(proofs) = proofs {
                proofs.write(&work.0)?;
            }
            self.settle(&work, &digest)
        });
        work.discard().await;
        if settled.is_ok() {
            tracing::info!(image = %digest, layers = manifest.layers.len(), "unpacked an image");
        }
        settled
    }

    async fn unpack(
        &self,
        manifest: &Manifest,
        layout: &Layout,
        work: &Scratch,
    ) -> Result<(), Error> {
        let rootfs = work.0.join("rootfs");
        fs::create_dir(&rootfs).map_err(Error::disk(&rootfs))?;
        let ask = Ask::Unpack {
            layers: layout.layers(manifest)?,
            most: self.room()?,
        };
        match self.inner.confined.ask(&rootfs, &ask).await? {
            Answer::Done => {}
            other => return Err(assemble::explain(other)),
        }
        assemble::finish(layout, manifest, &work.0)
    }

    /// Puts an image that is whole where it is looked for.
    fn settle(&self, work: &Scratch, digest: &Digest) -> Result<Rootfs, Error> {
        let place = self.place(digest);
        fs::rename(&work.0, &place).map_err(Error::disk(&place))?;
        self.ready(digest)?.ok_or_else(|| Error::Missing {
            what: digest.to_string(),
        })
    }

    fn ready(&self, digest: &Digest) -> Result<Option<Rootfs>, Error> {
        let lease = self.lease(digest);
        assemble::read(&self.place(digest), digest.clone(), lease)
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
        if let Err(error) = airside_tree::remove(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "cannot remove a scratch folder");
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Error::Interrupted)?
}
