//! Makes images on disk: OCI layouts, and what `docker save` writes.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub fn tarball(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn digest(data: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(data)))
}

fn blob(layout: &Path, media_type: &str, data: &[u8]) -> Value {
    let digest = digest(data);
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&digest[7..]), data).unwrap();
    json!({"mediaType": media_type, "digest": digest, "size": data.len()})
}

pub fn config(architecture: &str) -> Value {
    json!({
        "os": "linux", "architecture": architecture, "created": "2026-01-02T03:04:05Z",
        "config": {
            "Env": ["PATH=/bin"], "User": "1000", "Entrypoint": ["/bin/x"], "Cmd": ["y"],
            "Labels": {"org.name": "labelled", "other": "not"},
        },
        "rootfs": {"type": "layers", "diff_ids": []},
    })
}

/// An image of one file in each of two layers, the second of which removes something of the first.
fn image(layout: &Path, text: &str, architecture: &str) -> Value {
    let below = tarball(&[("a/gone", b"x"), ("a/kept", text.as_bytes())]);
    let above = tarball(&[("a/.wh.gone", b""), ("b", architecture.as_bytes())]);
    let layers = json!([
        blob(
            layout,
            "application/vnd.oci.image.layer.v1.tar+gzip",
            &gzip(&below)
        ),
        blob(
            layout,
            "application/vnd.oci.image.layer.v1.tar+zstd",
            &zstd::encode_all(&above[..], 1).unwrap()
        ),
    ]);
    let config = config(architecture).to_string();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(layout, "application/vnd.oci.image.config.v1+json", config.as_bytes()),
        "layers": layers,
        "annotations": {"org.note": "annotated"},
    });
    let mut entry = blob(
        layout,
        "application/vnd.oci.image.manifest.v1+json",
        manifest.to_string().as_bytes(),
    );
    entry["platform"] = json!({"os": "linux", "architecture": architecture});
    entry
}

/// A layout with one image for each architecture, and the digest of its index.
pub fn layout(path: &Path, text: &str, architectures: &[&str]) -> String {
    let manifests: Vec<Value> = architectures
        .iter()
        .map(|name| image(path, text, name))
        .collect();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    });
    fs::write(path.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    fs::write(path.join("index.json"), index.to_string()).unwrap();
    digest(index.to_string().as_bytes())
}

/// An image as `docker save` writes it: layers that are not compressed.
pub fn saved(text: &str) -> Vec<u8> {
    let layer = tarball(&[("saved", text.as_bytes())]);
    let config = config("amd64").to_string();
    let manifest = json!([{"Config": "c.json", "RepoTags": ["x:y"], "Layers": ["l/layer.tar"]}]);
    tarball(&[
        ("c.json", config.as_bytes()),
        ("l/layer.tar", &layer),
        ("manifest.json", manifest.to_string().as_bytes()),
    ])
}
