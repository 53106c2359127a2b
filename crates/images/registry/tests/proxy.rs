//! The way of a node to a real registry, on loopback.

#![allow(clippy::unwrap_used)]

use std::{convert::Infallible, sync::Arc, time::Duration};

use airside_registry::{
    Grant, Registry, RepositoryAccess, Tokens,
    proxy::{self, Upstream},
    team_repository,
};
use airside_serve::Authorities;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::service::service_fn;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

struct RegistryStage {
    registry: Registry,
    agent: u16,
    _folder: TempDir,
    _stop: DropGuard,
}

async fn agent(upstream: &str) -> (u16, DropGuard) {
    agent_that_trusts(upstream, None).await
}

async fn agent_that_trusts(upstream: &str, authority: Option<&str>) -> (u16, DropGuard) {
    // Another test may have done so.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let upstream: Upstream = upstream.parse().unwrap();
    let authorities = authority.map(|pem| Authorities::parse(pem).unwrap());
    let (listener, port) = listener().await;
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move { proxy::serve(listener, upstream, authorities.as_ref(), stop).await });
    (port, shutdown.drop_guard())
}

async fn house() -> RegistryStage {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path(), Tokens::new(b"key"), Default::default()).unwrap();
    let (listener, port) = listener().await;
    tokio::spawn(serve(listener, registry.clone()));
    let (agent, stop) = agent(&format!("http://127.0.0.1:{port}")).await;
    RegistryStage {
        registry,
        agent,
        _folder: folder,
        _stop: stop,
    }
}

async fn serve(listener: TcpListener, registry: Registry) {
    while let Ok((stream, _)) = listener.accept().await {
        let registry = registry.clone();
        let service = service_fn(move |request| {
            let registry = registry.clone();
            async move { Ok::<_, Infallible>(registry.answer(request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}

async fn ask(
    port: u16,
    method: &str,
    path: &str,
    token: Option<&str>,
) -> (u16, http::HeaderMap, Bytes) {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1:{port}{path}"));
    if let Some(token) = token {
        let login = STANDARD.encode(format!("airside:{token}"));
        request = request.header("authorization", format!("Basic {login}"));
    }
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let answer = client
        .request(request.body(Empty::new()).unwrap())
        .await
        .unwrap();
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), parts.headers, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_comes_through_with_its_own_teams_token_alone() {
    let house = house().await;
    let artifact = tempfile::tempdir().unwrap();
    std::fs::create_dir(artifact.path().join("rootfs")).unwrap();
    let name = team_repository("main");
    let published = house.registry.publish(&name, artifact.path()).unwrap();
    let token = |team: &str| {
        let grant = Grant::steady(
            team_repository(team),
            RepositoryAccess::Pull,
            Duration::from_secs(60),
        );
        house.registry.token(&grant)
    };
    let path = format!("/v2/{name}/manifests/{}", published.digest);
    let (status, headers, body) = ask(house.agent, "GET", &path, Some(&token("main"))).await;
    assert_eq!(status, 200);
    assert_eq!(
        headers["docker-content-digest"],
        published.digest.to_string()
    );
    assert!(!body.is_empty());
    let (status, headers, body) = ask(house.agent, "HEAD", &path, Some(&token("main"))).await;
    assert_eq!((status, body.len()), (200, 0));
    assert!(headers.contains_key("content-length"));
    assert_eq!(
        ask(house.agent, "GET", &path, Some(&token("other")))
            .await
            .0,
        403
    );
    let (status, headers, _) = ask(house.agent, "GET", &path, None).await;
    assert_eq!(status, 401);
    assert!(headers.contains_key("www-authenticate"));
}

#[tokio::test]
async fn nothing_else_is_passed_on() {
    let house = house().await;
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/api/v1/info", 404),
        ("GET", "/v2x", 404),
        ("POST", "/v2/team/main/a/blobs/uploads/", 405),
        ("DELETE", "/v2/team/main/a/manifests/x", 405),
        ("PUT", "/v2/", 405),
    ] {
        assert_eq!(
            ask(house.agent, method, path, None).await.0,
            status,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn a_registry_that_is_away_is_told() {
    let (port, _stop) = agent("http://127.0.0.1:1").await;
    let (status, _, body) = ask(port, "GET", "/v2/", None).await;
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(status, 502);
    assert!(
        text.contains("cannot reach the registry at http://127.0.0.1:1"),
        "{text}"
    );
}

/// A certificate for this machine that it signed itself: its own authority.
struct Certified {
    pem: String,
    acceptor: TlsAcceptor,
}

fn certified() -> Certified {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    Certified {
        pem: made.cert.pem(),
        acceptor: TlsAcceptor::from(Arc::new(config.unwrap())),
    }
}

#[tokio::test]
async fn an_upstream_with_tls_is_asked_if_its_authority_is_known() {
    let (own, other) = (certified(), certified());
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(folder.path(), Tokens::new(b"key"), Default::default()).unwrap();
    let (listener, port) = listener().await;
    let acceptor = own.acceptor.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let registry = registry.clone();
            let service = service_fn(move |request| {
                let registry = registry.clone();
                async move { Ok::<_, Infallible>(registry.answer(request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
        }
    });
    let upstream = format!("https://127.0.0.1:{port}");
    let (known, _stop) = agent_that_trusts(&upstream, Some(&own.pem)).await;
    // It answers, and wants a login.
    assert_eq!(ask(known, "GET", "/v2/", None).await.0, 401);
    for authority in [Some(other.pem.as_str()), None] {
        let (unknown, _stop) = agent_that_trusts(&upstream, authority).await;
        let (status, _, body) = ask(unknown, "GET", "/v2/", None).await;
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert_eq!(status, 502, "{text}");
        assert!(text.contains("invalid peer certificate"), "{text}");
    }
}
