//! Makes OCI image layouts.

use std::{fs, path::Path};

pub mod standin;

use sha2::{Digest, Sha256};

/// A store that starts the real confined processes.
pub fn options() -> airside_rootfs::Options {
    airside_rootfs::Options::new(vec![env!("CARGO_BIN_EXE_airside-puller").into()])
}

pub enum Compression {
    None,
    Gzip,
    Zstd,
}

pub fn layer(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        builder
            .append_data(&mut header, name, text.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn blob(layout: &Path, data: &[u8]) -> String {
    let hex = hex::encode(Sha256::digest(data));
    fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
    fs::write(layout.join("blobs/sha256").join(&hex), data).unwrap();
    format!("sha256:{hex}")
}

/// Writes an image and returns its manifest's digest.
pub fn image(layout: &Path, layers: &[(Vec<u8>, Compression)]) -> String {
    let config = serde_json::json!({
        "os": "linux", "architecture": "amd64",
        "config": {"Env": ["PATH=/bin", "GREETING=hello"], "User": "1000"},
    });
    let config = blob(layout, config.to_string().as_bytes());
    let layers: Vec<_> = layers
        .iter()
        .map(|(tar, compression)| {
            let (data, kind) = match compression {
                Compression::None => (tar.clone(), "tar"),
                Compression::Gzip => (gzip(tar), "tar+gzip"),
                Compression::Zstd => (zstd::encode_all(tar.as_slice(), 1).unwrap(), "tar+zstd"),
            };
            serde_json::json!({
                "mediaType": format!("application/vnd.oci.image.layer.v1.{kind}"),
                "digest": blob(layout, &data), "size": data.len(),
            })
        })
        .collect();
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": 1},
        "layers": layers,
    });
    let manifest = blob(layout, manifest.to_string().as_bytes());
    let index = serde_json::json!({
        "schemaVersion": 2,
        "manifests": [
            {"mediaType": "x", "digest": format!("sha256:{}", "0".repeat(64)), "size": 1,
             "platform": {"os": "plan9", "architecture": "amd64"}},
            {"mediaType": "x", "digest": manifest, "size": 1},
        ],
    });
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
    manifest
}

fn gzip(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
