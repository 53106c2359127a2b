//! The registry on a port of loopback, and requests to it.

#![allow(clippy::unwrap_used, unreachable_pub, dead_code)]

use std::{convert::Infallible, time::Duration};

use airside_model::Quotas;
use airside_registry::{Grant, Registry, RepositoryAccess, RepositoryName, Tokens};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub const REPOSITORY: &str = "team/main/app";
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub struct RegistryStage {
    pub registry: Registry,
    pub port: u16,
    pub folder: TempDir,
    pub client: Client<HttpConnector, Full<Bytes>>,
}

pub struct TestAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl TestAnswer {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of its error, or nothing.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body["errors"][0]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

pub fn grant(name: &str, access: RepositoryAccess) -> Grant {
    let repository = RepositoryName::parse(name).unwrap();
    Grant::steady(repository, access, Duration::from_secs(3600))
}

pub fn basic(token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("airside:{token}")))
}

pub fn digest(data: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(data)))
}

impl RegistryStage {
    pub async fn open() -> Self {
        Self::open_with_quotas(Quotas::default()).await
    }

    pub async fn open_with_quotas(quotas: Quotas) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(b"a key of the tests");
        let marks = Default::default();
        let registry = Registry::open_with_quotas(folder.path(), tokens, marks, quotas).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(serve(listener, registry.clone()));
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self {
            registry,
            port,
            folder,
            client,
        }
    }

    /// Sends a request with all rights of the team `main`.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestAnswer {
        let token = self
            .registry
            .token(&grant("team/main", RepositoryAccess::Delete));
        let login = basic(&token);
        let headers: Vec<_> = [("authorization", login.as_str())]
            .iter()
            .chain(headers)
            .copied()
            .collect();
        self.ask_as(method, path, &headers, body).await
    }

    /// Sends a request with these headers and no others.
    pub async fn ask_as(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestAnswer {
        let uri = format!("http://127.0.0.1:{}{path}", self.port);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(Bytes::copy_from_slice(body)))
            .unwrap();
        let (parts, body) = self.client.request(request).await.unwrap().into_parts();
        TestAnswer {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Pushes a blob in one request.
    pub async fn push_blob(&self, data: &[u8]) -> String {
        let digest = digest(data);
        let path = format!("/v2/{REPOSITORY}/blobs/uploads/?digest={digest}");
        let answer = self.ask("POST", &path, &[], data).await;
        assert_eq!(answer.status, 201, "{:?}", answer.body);
        digest
    }

    /// A whole image; the text of its manifest.
    pub async fn push_image(&self, content: &str, tag: &str) -> String {
        let layer = self.push_blob(content.as_bytes()).await;
        let config = self.push_blob(b"{}").await;
        let manifest = manifest(&config, &[&layer]);
        let path = format!("/v2/{REPOSITORY}/manifests/{tag}");
        let answer = self
            .ask(
                "PUT",
                &path,
                &[("content-type", MANIFEST)],
                manifest.as_bytes(),
            )
            .await;
        assert_eq!(answer.status, 201, "{:?}", answer.body);
        manifest
    }
}

pub fn manifest(config: &str, layers: &[&str]) -> String {
    let layers: Vec<Value> = layers
        .iter()
        .map(|digest| serde_json::json!({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest, "size": 1}))
        .collect();
    serde_json::json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "layers": layers,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": 2},
    })
    .to_string()
}

async fn serve(listener: TcpListener, registry: Registry) {
    while let Ok((stream, _)) = listener.accept().await {
        let registry = registry.clone();
        let service = service_fn(move |request| {
            let registry = registry.clone();
            async move { Ok::<_, Infallible>(registry.answer(request).await) }
        });
        let served = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(served);
    }
}
