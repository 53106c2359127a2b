//! A registry's image as an OCI layout: an index or a single image, with all that it names.

use std::{fs, path::Path};

use airside_oci::{Digest, Document, media_type::OCI_INDEX};
use serde_json::json;

use crate::{
    Failure,
    registry::{Meter, Registry, check_size, parse_document},
};

/// Says that the layout holds one image that is not part of an index.
pub(super) const SINGLE: &str = "single-image-digest";

/// Bytes of all images of an index together; beyond any in use.
const MAX_LAYOUT_BYTES: u64 = 256 << 30;

pub(super) fn write(
    registry: &Registry,
    digest: &Digest,
    dest: &Path,
    mut meter: Meter<'_>,
) -> Result<(), Failure> {
    let blobs = dest.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(Failure::io(&blobs))?;
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(Failure::io(path));
    write(
        &dest.join("oci-layout"),
        br#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let top = manifest(registry, digest)?;
    let document = parse_document(&top, &digest.to_string())?;
    if let Document::Index(_) = document {
        write(&dest.join("index.json"), &top)?;
    } else {
        let index = json!({
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": [{
                "mediaType": document.kind(), "digest": digest.to_string(), "size": top.len(),
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
        match parse_document(&bytes, &digest.to_string())? {
            Document::Index(index) => waiting.extend(index.manifests.into_iter().map(|m| m.digest)),
            Document::Manifest(manifest) => {
                check_size(&manifest, left)?;
                left -= manifest.size().unwrap_or_default();
                meter.expect(manifest.blobs());
                for blob in manifest.blobs() {
                    let path = blobs.join(blob.digest.hex());
                    if path.exists() {
                        meter.there_already(blob.size);
                    } else {
                        registry.download(blob, &path, &mut meter)?;
                    }
                }
            }
        }
    }
    meter.finish();
    Ok(())
}

fn manifest(registry: &Registry, digest: &Digest) -> Result<Vec<u8>, Failure> {
    match registry.manifest(&digest.to_string())? {
        Some((_, bytes)) => Ok(bytes),
        None => Err(Failure::no_image(digest)),
    }
}
