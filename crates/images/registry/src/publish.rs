//! Publication: a folder with a root file system becomes an image of one layer.
//!
//! Equal folders become equal images: names are sorted, and everything about a file is taken from
//! the folder. So a folder that is published again is found to be there.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
};

use airside_archive::Hasher;
use airside_oci::{
    Digest, architecture,
    media_type::{OCI_CONFIG, OCI_LAYER_ZSTD, OCI_MANIFEST},
};
use serde_json::json;

use crate::{Error, Registry, RepositoryName, TagOrDigest, manifest::Manifest, store::Store};

/// Level of compression. It is the fastest, as a step waits for the image.
const LEVEL: i32 = 1;

/// An image that nodes can pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub digest: Digest,
    /// True if the image's layer was not here before.
    pub is_new: bool,
}

struct Stored {
    digest: Digest,
    size: u64,
    is_new: bool,
}

impl Registry {
    /// Makes `folder/rootfs` an image of the repository. It blocks for as long as packing takes.
    pub fn publish(&self, repository: &RepositoryName, folder: &Path) -> Result<Published, Error> {
        let rootfs = folder.join("rootfs");
        // The step that made the folder is not trusted: a link could lead anywhere on this machine.
        if !fs::symlink_metadata(&rootfs).is_ok_and(|found| found.is_dir()) {
            let name = folder.file_name().unwrap_or_default();
            return Err(Error::NoRootfs(name.to_string_lossy().into_owned()));
        }
        let store = &self.inner.store;
        store.has_room()?;
        let (layer, tar) = store_layer(store, repository, &rootfs)?;
        let config = json!({
            "architecture": architecture(), "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [tar.to_string()]},
        });
        let config = store_text(store, repository, config.to_string().as_bytes())?;
        let described = |kind: &str, stored: &Stored| json!({"mediaType": kind, "digest": stored.digest, "size": stored.size});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": described(OCI_CONFIG, &config),
            "layers": [described(OCI_LAYER_ZSTD, &layer)],
        });
        let text = manifest.to_string();
        let parsed = Manifest::parse(text.as_bytes(), OCI_MANIFEST)?;
        let digest = Digest::of_bytes(text.as_bytes());
        let reference = TagOrDigest::Digest(digest.clone());
        store.put_manifest(repository, &reference, text.as_bytes(), &parsed)?;
        Ok(Published {
            digest,
            is_new: layer.is_new,
        })
    }

    /// Returns true if an image is still here; then it counts as used now. It blocks.
    pub fn is_there(&self, repository: &RepositoryName, digest: &Digest) -> bool {
        let reference = TagOrDigest::Digest(digest.clone());
        self.inner.store.manifest(repository, &reference).is_ok()
    }
}

/// Packs the tree; also says what the tar was before it was compressed.
fn store_layer(
    store: &Store,
    repository: &RepositoryName,
    rootfs: &Path,
) -> Result<(Stored, Digest), Error> {
    let scratch = Scratch::new(store);
    let file = File::create(&scratch.0).map_err(Error::at("write", &scratch.0))?;
    let packed = zstd::stream::write::Encoder::new(Hasher::new(file), LEVEL);
    let mut tar = Hasher::new(packed.map_err(Error::at("write", &scratch.0))?);
    airside_archive::pack_plain(rootfs, &mut tar).map_err(|error| {
        if error.is_disk_full() {
            Error::DiskFull
        } else {
            Error::Pack(error)
        }
    })?;
    let (encoder, tar) = tar.finish();
    let finished = encoder.finish().and_then(|hasher| {
        let (mut file, digest) = hasher.finish();
        file.flush()?;
        file.sync_data()?;
        Ok(digest)
    });
    let layer = finished.map_err(Error::at("write", &scratch.0))?;
    let digest = Digest::parse(&format!("sha256:{}", layer.sha256))?;
    let is_new = store.adopt(&scratch.0, repository, &digest)?;
    let stored = Stored {
        digest,
        size: layer.bytes,
        is_new,
    };
    Ok((stored, Digest::parse(&format!("sha256:{}", tar.sha256))?))
}

fn store_text(store: &Store, repository: &RepositoryName, text: &[u8]) -> Result<Stored, Error> {
    let scratch = Scratch::new(store);
    fs::write(&scratch.0, text).map_err(Error::at("write", &scratch.0))?;
    let digest = Digest::of_bytes(text);
    let is_new = store.adopt(&scratch.0, repository, &digest)?;
    Ok(Stored {
        digest,
        size: text.len() as u64,
        is_new,
    })
}

/// A file that goes unless it became a blob.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(store: &Store) -> Self {
        Self(store.fresh())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
