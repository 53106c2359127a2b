//! An image beside its files: what is kept of it, and how it is found again.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Digest, Error, Rootfs,
    document::{Config, Manifest},
    idle::{self, Lease},
    layout::{Layout, parse},
    wire::Answer,
};

/// What is kept of an image beside its files.
#[derive(Serialize, Deserialize)]
struct Kept {
    env: Vec<String>,
    user: Option<String>,
}

/// Writes what is kept of an image beside its files. With that it is whole.
pub(crate) fn finish(layout: &Layout, manifest: &Manifest, dir: &Path) -> Result<(), Error> {
    let config = layout.document(&manifest.config.digest)?;
    let settings = parse::<Config>(&config, "its configuration")?
        .config
        .unwrap_or_default();
    let kept = Kept {
        env: settings.env.unwrap_or_default(),
        user: settings.user.filter(|user| !user.is_empty()),
    };
    let path = dir.join("image.json");
    let text = serde_json::to_vec(&kept).map_err(io::Error::other);
    text.and_then(|text| fs::write(&path, text))
        .map_err(Error::disk(&path))
}

/// Why an image could not be unpacked.
pub(crate) fn explain(answer: Answer) -> Error {
    match answer {
        Answer::Mismatch { expected, actual } => Error::Mismatch { expected, actual },
        Answer::BadLayer { layer, words } => Error::Layer { layer, words },
        Answer::MediaType { layer, media_type } => Error::MediaType { layer, media_type },
        other => Error::confined(format!("it answered another question: {other:?}")),
    }
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
