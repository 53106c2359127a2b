//! A registry's image as an OCI layout: an index or a single image, with all that it names.

use std::{fs, io::Write, path::Path};

use serde_json::json;

use crate::{
    Failure,
    registry::{Digest, Kind, Registry},
};

/// Says that the layout holds one image that is not part of an index.
pub(super) const SINGLE: &str = "single-image-digest";

/// Bytes of all images of an index together; beyond any in use.
const MAX_LAYOUT_BYTES: u64 = 256 << 30;

pub(super) fn write(
    registry: &Registry,
    digest: &Digest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let blobs = dest.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(Failure::io(&blobs))?;
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(Failure::io(path));
    write(
        &dest.join("oci-layout"),
        br#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let top = manifest(registry, digest)?;
    if let Kind::Index(_) = Kind::parse(&top, &digest.to_string())? {
        write(&dest.join("index.json"), &top)?;
    } else {
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{
                "mediaType": media_type(&top), "digest": digest.to_string(), "size": top.len(),
            }],
        });
        write(&dest.join("index.json"), index.to_string().as_bytes())?;
        write(&dest.join(SINGLE), digest.to_string().as_bytes())?;
    }
    let mut left = MAX_LAYOUT_BYTES;
    let mut waiting = vec![digest.clone()];
    while let Some(digest) = waiting.pop() {
        let path = blobs.join(digest.hex());
        if path.exists() {
            continue;
        }
        let bytes = manifest(registry, &digest)?;
        write(&path, &bytes)?;
        match Kind::parse(&bytes, &digest.to_string())? {
            Kind::Index(index) => waiting.extend(index.manifests.into_iter().map(|m| m.digest)),
            Kind::Manifest(manifest) => {
                manifest.at_most(left)?;
                left -= manifest.size().unwrap_or_default();
                for blob in manifest.layers.iter().chain([&manifest.config]) {
                    let path = blobs.join(blob.digest.hex());
                    if !path.exists() {
                        registry.download(blob, &path, log)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn manifest(registry: &Registry, digest: &Digest) -> Result<Vec<u8>, Failure> {
    match registry.manifest(&digest.to_string())? {
        Some((_, bytes)) => Ok(bytes),
        None => Err(Failure::said(format!("the registry has no image {digest}"))),
    }
}

/// What a manifest says it is, or what it must be then.
pub(super) fn media_type(bytes: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed {
        media_type: Option<String>,
        manifests: Option<serde_json::Value>,
    }
    let typed: Option<Typed> = serde_json::from_slice(bytes).ok();
    let default = match &typed {
        Some(typed) if typed.manifests.is_some() => "application/vnd.oci.image.index.v1+json",
        _ => "application/vnd.oci.image.manifest.v1+json",
    };
    let said = typed.and_then(|typed| typed.media_type);
    said.unwrap_or_else(|| default.to_owned())
}
