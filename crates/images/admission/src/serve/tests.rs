use std::time::Instant;

use airside_image_certs::{Lifetimes, Served, renew};
use http_body_util::Empty;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, sync::watch};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::*;
use crate::{
    View,
    many::{review, view},
};

const NAME: &str = "hook.test.svc";

/// A server on loopback, and the authority to trust for it.
struct House {
    say: watch::Sender<Option<Arc<View>>>,
    address: std::net::SocketAddr,
    bundle: String,
    shutdown: CancellationToken,
}

impl House {
    async fn open() -> Self {
        let now = jiff::Timestamp::now();
        let names = [NAME.to_owned()];
        let material = renew(None, "test", &names, Lifetimes::default(), now).unwrap();
        let tls = Served::new(&material.material)
            .unwrap()
            .server_config()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (say, seen) = watch::channel(None);
        let rules = Arc::default();
        let shutdown = CancellationToken::new();
        tokio::spawn(serve(listener, tls, Door { seen, rules }, shutdown.clone()));
        Self {
            say,
            address,
            bundle: material.material.bundle(),
            shutdown,
        }
    }

    async fn connect(&self) -> SendRequest<Full<Bytes>> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.bundle.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from(NAME).unwrap();
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> (StatusCode, Bytes) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, NAME)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    sender.ready().await.unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let status = answer.status();
    (
        status,
        answer.into_body().collect().await.unwrap().to_bytes(),
    )
}

#[tokio::test]
async fn nothing_is_answered_before_everything_was_seen() {
    let house = House::open().await;
    let mut sender = house.connect().await;
    for (method, path, status) in [
        (Method::GET, READY_PATH, StatusCode::SERVICE_UNAVAILABLE),
        (Method::POST, REVIEW_PATH, StatusCode::SERVICE_UNAVAILABLE),
        (Method::GET, "/", StatusCode::NOT_FOUND),
        (Method::GET, REVIEW_PATH, StatusCode::NOT_FOUND),
    ] {
        let (found, _) = ask(&mut sender, method, path, review(1, 50)).await;
        assert_eq!(found, status, "{path}");
    }
    house.say.send_replace(Some(Arc::new(view(50, 40))));
    let (ready, _) = ask(&mut sender, Method::GET, READY_PATH, Vec::new()).await;
    assert_eq!(ready, StatusCode::OK);
    let (status, answer) = ask(&mut sender, Method::POST, REVIEW_PATH, review(1, 50)).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["response"]["allowed"], true);
    assert!(answer["response"]["patch"].is_string());
}

#[tokio::test]
async fn what_is_no_question_gets_no_answer() {
    let house = House::open().await;
    house.say.send_replace(Some(Arc::new(view(50, 40))));
    let mut sender = house.connect().await;
    let (status, _) = ask(&mut sender, Method::POST, REVIEW_PATH, b"no".to_vec()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let mut sender = house.connect().await;
    let (status, _) = ask(
        &mut sender,
        Method::POST,
        REVIEW_PATH,
        vec![b' '; MAX_REVIEW_BYTES + 1],
    )
    .await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn who_speaks_no_tls_is_let_go() {
    let house = House::open().await;
    let stream = TcpStream::connect(house.address).await.unwrap();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(READY_PATH)
        .body(Empty::<Bytes>::new())
        .unwrap();
    sender.send_request(request).await.unwrap_err();
    house.shutdown.cancel();
}

#[tokio::test]
async fn a_connection_outlasts_the_time_in_which_nobody_asks() {
    let house = House::open().await;
    house.say.send_replace(Some(Arc::new(view(1, 1))));
    let mut sender = house.connect().await;
    let (status, _) = ask(&mut sender, Method::POST, REVIEW_PATH, review(0, 50)).await;
    assert_eq!(status, StatusCode::OK);
    // As long as the API server keeps one that it does not need.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(90)).await;
    tokio::time::resume();
    let (status, _) = ask(&mut sender, Method::POST, REVIEW_PATH, review(0, 50)).await;
    assert_eq!(status, StatusCode::OK);
}

/// Prints the time that a question takes, TLS included. This is not a test of speed, which depends
/// on the machine.
#[tokio::test]
async fn many_questions_over_one_connection() {
    let house = House::open().await;
    house.say.send_replace(Some(Arc::new(view(50, 40))));
    let mut sender = house.connect().await;
    let mut took = Vec::new();
    for number in 0..200 {
        let body = review(number, 50);
        let begun = Instant::now();
        let (status, _) = ask(&mut sender, Method::POST, REVIEW_PATH, body).await;
        took.push(begun.elapsed());
        assert_eq!(status, StatusCode::OK);
    }
    took.sort();
    let at = |share: usize| took[took.len() * share / 100];
    println!(
        "200 reviews with 2000 known images: median {:?}, p99 {:?}",
        at(50),
        at(99)
    );
}
