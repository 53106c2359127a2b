//! A mirror on loopback in front of a registry that counts.

// Each test binary uses its own part of this.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

#[path = "../../../../tests/scenarios/src/counting_registry.rs"]
pub mod counting_registry;

use std::sync::Arc;

use airside_mirror::{Client, Folder, Mirror, Registries, Storage, Upstream};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy, rt::TokioExecutor};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

#[allow(unused_imports)]
pub use counting_registry::{CountingRegistry, Fault, Login};

pub struct MirrorStage {
    pub registry: Arc<CountingRegistry>,
    pub mirror: Mirror,
    pub folder: TempDir,
    pub port: u16,
    pub stop: CancellationToken,
    pub served: JoinHandle<()>,
    _guard: DropGuard,
}

#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: HeaderMap,
    /// Nothing if it broke off.
    pub body: Option<Bytes>,
}

impl MirrorStage {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = Arc::new(Folder::open(folder.path()).unwrap());
        Self::over(Arc::default(), storage, folder).await
    }

    /// Another process on what an earlier one kept.
    pub async fn again(self) -> Self {
        let storage = Arc::new(Folder::open(self.folder.path()).unwrap());
        Self::over(self.registry, storage, self.folder).await
    }

    pub async fn with(registry: Arc<CountingRegistry>, storage: Arc<dyn Storage>) -> Self {
        Self::over(registry, storage, tempfile::tempdir().unwrap()).await
    }

    async fn over(
        registry: Arc<CountingRegistry>,
        storage: Arc<dyn Storage>,
        folder: TempDir,
    ) -> Self {
        // Another test may have done so.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let listed = format!("r.example={}", registry.url());
        let registries = Registries::new([listed.parse().unwrap()]);
        let upstream = Upstream::new(Client::new(None).unwrap(), registries);
        let mirror = Mirror::open(upstream, storage, &folder.path().join("spool")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = CancellationToken::new();
        let served = tokio::spawn(airside_mirror::serve(
            listener,
            mirror.clone(),
            stop.clone(),
        ));
        Self {
            registry,
            mirror,
            folder,
            port,
            stop: stop.clone(),
            served,
            _guard: stop.drop_guard(),
        }
    }

    pub async fn get(&self, path: &str) -> Got {
        self.ask("GET", path, &[]).await
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Got {
        let uri = format!("http://127.0.0.1:{}{path}?ns=r.example", self.port);
        ask(method, &uri, headers).await
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

pub async fn ask(method: &str, uri: &str, headers: &[(&str, &str)]) -> Got {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let client: legacy::Client<_, Empty<Bytes>> =
        legacy::Client::builder(TokioExecutor::new()).build_http();
    let answer = client
        .request(request.body(Empty::new()).unwrap())
        .await
        .unwrap();
    let (parts, body) = answer.into_parts();
    let body = body.collect().await;
    Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.ok().map(http_body_util::Collected::to_bytes),
    }
}

/// Waits until the condition is true.
pub async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while !is() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("waited for: {what}"));
}

/// Removes all notes, of which there are so many.
pub async fn forget_notes(storage: &dyn Storage, count: usize) {
    let notes = storage.notes().await.unwrap();
    assert_eq!(notes.len(), count, "{notes:?}");
    for noted in notes {
        storage.remove_note(&noted.name).await.unwrap();
        storage.remove_note(&noted.name).await.unwrap();
    }
    assert_eq!(storage.notes().await.unwrap(), []);
}

pub fn layer(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + at / 251) as u8).collect()
}
