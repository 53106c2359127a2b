//! Layers become one folder.

use std::{
    fs,
    io::{self, BufReader, Read},
    path::Path,
};

use airside_tree::Limits;
use serde::{Deserialize, Serialize};

use crate::{
    Digest, Error, Rootfs,
    document::{Config, Descriptor, Manifest},
    idle::{self, Lease},
    layout::{Layout, parse, verify},
};

/// Beyond any image in use; a bound on what a hostile one can do to the disk.
const LIMITS: Limits = Limits {
    bytes: 64 << 30,
    entries: 4_000_000,
};

/// How much a layer may grow when it is unpacked: far more than files do, far less than a bomb.
const GROWTH: u64 = 100;
/// What a layer may hold however small it is.
const ALWAYS: u64 = 64 << 20;

/// What is kept of an image beside its files.
#[derive(Serialize, Deserialize)]
struct Kept {
    env: Vec<String>,
    user: Option<String>,
}

/// Unpacks into `dir`, which the caller then puts into its place.
pub(crate) fn image(
    layout: &Layout,
    digest: &Digest,
    manifest: &Manifest,
    dir: &Path,
) -> Result<(), Error> {
    let rootfs = dir.join("rootfs");
    fs::create_dir(&rootfs).map_err(Error::disk(&rootfs))?;
    for layer in &manifest.layers {
        unpack(layout, layer, &rootfs)?;
    }
    let config = layout.document(&manifest.config.digest)?;
    let settings = parse::<Config>(&config, "its configuration")?
        .config
        .unwrap_or_default();
    keep(dir, settings.env.unwrap_or_default(), settings.user)?;
    tracing::info!(image = %digest, layers = manifest.layers.len(), "unpacked an image");
    Ok(())
}

/// Writes what is kept of an image beside its files. With that it is whole.
pub(crate) fn keep(dir: &Path, env: Vec<String>, user: Option<String>) -> Result<(), Error> {
    let user = user.filter(|user| !user.is_empty());
    let kept = Kept { env, user };
    let path = dir.join("image.json");
    let text = serde_json::to_vec(&kept).map_err(|error| Error::Disk {
        path: path.clone(),
        source: io::Error::other(error),
    })?;
    fs::write(&path, text).map_err(Error::disk(&path))
}

/// The image that stands at `dir`, if one does; it counts as used now.
pub(crate) fn read(dir: &Path, digest: Digest, lease: Lease) -> Result<Option<Rootfs>, Error> {
    let path = dir.join("image.json");
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

fn unpack(layout: &Layout, layer: &Descriptor, rootfs: &Path) -> Result<(), Error> {
    let mut blob = layout.open(&layer.digest)?;
    let stored = layout.length(&layer.digest)?;
    let grown = stored.saturating_mul(GROWTH).saturating_add(ALWAYS);
    let limits = Limits {
        bytes: grown.min(LIMITS.bytes),
        ..LIMITS
    };
    let result = {
        let buffered = BufReader::with_capacity(1 << 16, &mut blob);
        let tar = decompressed(layer, buffered)?;
        airside_tree::unpack_layer(tar, rootfs, &limits)
    };
    // The hash first: of a damaged blob, that it is damaged says more than what tar made of it.
    verify(blob, &layer.digest)?;
    result.map_err(|source| {
        if source.is_disk_full() {
            return Error::DiskFull {
                path: rootfs.to_owned(),
            };
        }
        Error::Layer {
            layer: layer.digest.clone(),
            source,
        }
    })
}

fn decompressed<'a>(
    layer: &Descriptor,
    blob: impl io::BufRead + 'a,
) -> Result<Box<dyn Read + 'a>, Error> {
    let kind = layer.media_type.as_str();
    if kind.ends_with("+gzip") || kind.ends_with(".gzip") {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(blob)));
    }
    if kind.ends_with("+zstd") || kind.ends_with(".zstd") {
        let decoder = zstd::stream::read::Decoder::with_buffer(blob);
        return Ok(Box::new(
            decoder.map_err(Error::disk(Path::new(layer.digest.hex())))?,
        ));
    }
    if kind.ends_with(".tar") {
        return Ok(Box::new(blob));
    }
    Err(Error::MediaType {
        layer: layer.digest.clone(),
        media_type: kind.to_owned(),
    })
}
