//! An image becomes a folder: its layers, unpacked, and what is kept of it beside them.

use std::{fs, io, path::Path};

use airside_oci::{ImageConfig, Manifest};
use airside_pulls::{PullProgress, PullStage};
use airside_volumes::Disk;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Error, Images, PullListener, Rootfs, Scratch,
    idle::{self, Lease},
    layout::{Layout, parse},
    proofs::Proofs,
    wire::{PullerAnswer, PullerRequest},
};

/// Bytes of an image, as it is fetched and as it is unpacked: beyond any in use.
const MOST_BYTES: u64 = 64 << 30;

/// The file with an image's facts, which is written last.
pub(crate) const KEPT: &str = "image.json";

/// The facts of an image that are kept beside its files.
#[derive(Serialize, Deserialize)]
struct Kept {
    env: Vec<String>,
    user: Option<String>,
}

impl Images {
    /// The bytes that may still be written.
    pub(crate) fn room(&self) -> Result<u64, Error> {
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
    pub(crate) async fn assemble(
        &self,
        digest: Digest,
        manifest: Manifest,
        layout: Layout,
        proofs: Option<Proofs>,
        listener: PullListener<'_>,
    ) -> Result<Rootfs, Error> {
        let work = self.fresh()?;
        let unpacked = self.unpack(&manifest, &layout, &work, listener).await;
        let settled = unpacked.and_then(|()| {
            if let Some(proofs) = proofs {
                proofs.write(&work.0, &work)?;
            }
            self.settle(&work, &digest)
        });
        work.discard().await;
        if settled.is_ok() {
            tracing::info!(image = %digest, layers = manifest.layers.len(), "image unpacked");
        }
        settled
    }

    async fn unpack(
        &self,
        manifest: &Manifest,
        layout: &Layout,
        work: &Scratch,
        listener: PullListener<'_>,
    ) -> Result<(), Error> {
        let rootfs = work.0.join("rootfs");
        fs::create_dir(&rootfs).map_err(Error::disk(&rootfs))?;
        let ask = PullerRequest::Unpack {
            layers: layout.layers(manifest)?,
            most: self.room()?,
        };
        let confined = &self.inner.confined;
        let report = |progress: PullProgress| {
            let stage = PullStage::Unpacking;
            listener(PullProgress { stage, ..progress });
        };
        match confined.ask_reporting(&rootfs, &ask, &report).await? {
            PullerAnswer::Done => {}
            other => return Err(explain(other)),
        }
        finish(layout, manifest, &work.0)
    }
}

/// Writes what is kept of an image beside its files. With that it is whole.
fn finish(layout: &Layout, manifest: &Manifest, dir: &Path) -> Result<(), Error> {
    let config = layout.document(&manifest.config.digest)?;
    let config = ImageConfig::parse(&config).map_err(|error| Error::Damaged {
        what: format!("its configuration: {}", airside_model::chain(&error)),
    })?;
    let settings = config.config;
    let kept = Kept {
        env: settings.env.unwrap_or_default(),
        user: settings.user.filter(|user| !user.is_empty()),
    };
    let path = dir.join(KEPT);
    let text = serde_json::to_vec(&kept).map_err(io::Error::other);
    text.and_then(|text| fs::write(&path, text))
        .map_err(Error::disk(&path))
}

/// Returns the reason why an image could not be unpacked.
fn explain(answer: PullerAnswer) -> Error {
    match answer {
        PullerAnswer::Mismatch { expected, actual } => Error::Mismatch { expected, actual },
        PullerAnswer::BadLayer { layer, words } => Error::Layer { layer, words },
        PullerAnswer::MediaType { layer, media_type } => Error::MediaType { layer, media_type },
        other => Error::confined(format!("it answered another question: {other:?}")),
    }
}

/// The image that stands at `dir`, if one does; it counts as used now.
pub(crate) fn read(dir: &Path, digest: Digest, lease: Lease) -> Result<Option<Rootfs>, Error> {
    let path = dir.join(KEPT);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::disk(&path)(error)),
    };
    idle::touch(&path)?;
    let kept: Kept = parse(&text, &path.display().to_string())?;
    let layers = vec![dir.join("rootfs")];
    Ok(Some(Rootfs {
        layers,
        env: kept.env,
        user: kept.user,
        digest,
        lease,
    }))
}
