//! Images from a registry on loopback: just enough of one to pull from.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{fs, path::PathBuf, sync::Mutex};

use airside_pulls::{PullProgress, PullStage};
use airside_rootfs::{Error, ImageSource, Images, Options, PullFault};
use common::{Compression, image, layer, options};
use tempfile::tempdir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

fn registry(reference: &str) -> ImageSource {
    ImageSource::Registry {
        reference: reference.to_owned(),
        source: Default::default(),
        team: "main".to_owned(),
    }
}

/// Serves a layout under the name `repo`, its manifest as the tag `latest`.
async fn serve(layout: PathBuf, manifest: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, layout.clone(), manifest.clone()));
        }
    });
    port
}

async fn answer(stream: TcpStream, layout: PathBuf, manifest: String) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    stream.read_line(&mut request).await.unwrap();
    let mut header = String::new();
    while stream.read_line(&mut header).await.unwrap() > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap();
    // A mirror is told which registry it stands for.
    let path = path.split('?').next().unwrap();
    let repository = path.strip_prefix("/v2/library").unwrap_or(path);
    let digest = match repository.trim_start_matches("/v2").strip_prefix("/repo/") {
        Some("manifests/latest") => manifest,
        Some(rest) => rest.rsplit('/').next().unwrap().to_owned(),
        None => String::new(),
    };
    let blob = layout
        .join("blobs/sha256")
        .join(digest.trim_start_matches("sha256:"));
    let (status, body) = match fs::read(blob) {
        _ if path == "/v2/" => ("200 OK", Vec::new()),
        Ok(body) => ("200 OK", body),
        Err(_) => (
            "404 Not Found",
            br#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#.to_vec(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Content-Type: application/vnd.oci.image.manifest.v1+json\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
}

#[tokio::test]
async fn an_image_is_pulled_by_tag_and_by_digest() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let images = Images::open(store.path(), options()).unwrap();
    let digest = image(
        layout.path(),
        &[(layer(&[("f", "pulled")]), Compression::Gzip)],
    );
    let port = serve(layout.path().to_owned(), digest.clone()).await;

    let tagged = registry(&format!("127.0.0.1:{port}/repo:latest"));
    let rootfs = images.ensure(&tagged).await.unwrap();
    assert_eq!(
        fs::read_to_string(rootfs.layers[0].join("f")).unwrap(),
        "pulled"
    );
    assert_eq!(rootfs.digest.to_string(), digest);
    assert_eq!(fs::read_dir(store.path().join("tmp")).unwrap().count(), 0);

    // What is here already needs no registry: port 1 has none.
    let pinned = registry(&format!("127.0.0.1:1/repo@{digest}"));
    assert_eq!(images.ensure(&pinned).await.unwrap(), rootfs);
}

#[tokio::test]
async fn a_pull_reports_what_it_fetches_and_unpacks() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let images = Images::open(store.path(), options()).unwrap();
    let digest = image(
        layout.path(),
        &[(layer(&[("f", "pulled")]), Compression::Gzip)],
    );
    let port = serve(layout.path().to_owned(), digest.clone()).await;
    let seen = Mutex::new(Vec::new());
    let listener = |progress: PullProgress| seen.lock().unwrap().push(progress);
    let wanted = registry(&format!("127.0.0.1:{port}/repo@{digest}"));
    images.ensure_reporting(&wanted, &listener).await.unwrap();
    let pulled = std::mem::take(&mut *seen.lock().unwrap());
    for stage in [PullStage::Fetching, PullStage::Unpacking] {
        let known = |progress: &&PullProgress| progress.stage == stage && progress.layers == 1;
        let first = pulled.iter().find(known);
        assert!(first.is_some_and(|first| first.bytes > 0), "{pulled:?}");
    }

    // There is nothing to tell of an image that is here.
    images.ensure_reporting(&wanted, &listener).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), []);
}

#[tokio::test]
async fn missing_images_and_registries_are_told_apart() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let images = Images::open(store.path(), options()).unwrap();
    let port = serve(layout.path().to_owned(), "sha256:none".to_owned()).await;
    let missing = registry(&format!("localhost:{port}/repo:nothing"));
    let error = images.ensure(&missing).await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let by_digest = format!("localhost:{port}/repo@sha256:{}", "0".repeat(64));
    let error = images.ensure(&registry(&by_digest)).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Pull {
                fault: PullFault::Missing,
                ..
            }
        ),
        "{error:?}"
    );
    let nobody = registry("127.0.0.1:1/repo:latest");
    let error = images.ensure(&nobody).await.unwrap_err();
    // It was asked often enough already.
    assert!(
        matches!(
            error,
            Error::Pull {
                fault: PullFault::Other,
                ..
            }
        ) && !error.is_temporary(),
        "{error}"
    );
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn a_mirror_is_asked_in_the_place_of_its_registry() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let digest = image(
        layout.path(),
        &[(layer(&[("f", "mirrored")]), Compression::None)],
    );
    let port = serve(layout.path().to_owned(), digest.clone()).await;
    let mirrors = [
        format!("docker.io=127.0.0.1:{port}"),
        format!("registry.example=127.0.0.1:{port}"),
    ];
    let mirrors = mirrors.iter().map(|text| text.parse().unwrap()).collect();
    let images = Images::open(
        store.path(),
        Options {
            mirrors,
            ..options()
        },
    )
    .unwrap();
    for name in ["repo", "registry.example/repo:latest"] {
        let source = registry(name);
        let rootfs = images.ensure(&source).await.unwrap();
        assert_eq!(rootfs.digest.to_string(), digest, "{name}");
    }
}
