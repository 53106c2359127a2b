//! The server on real sockets: its end, slow peers and too many of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use airside_serve::{ServeOptions, serve, text};
use http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivateKeyDer};
use tokio_util::sync::CancellationToken;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// Far more than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

struct Running {
    address: SocketAddr,
    shutdown: CancellationToken,
    /// Told of each request that has come.
    asked: Arc<Notify>,
    /// Lets one request be answered.
    answer: Arc<Notify>,
    ended: JoinHandle<()>,
}

async fn start(options: ServeOptions) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let (asked, answer) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let (tell, wait) = (asked.clone(), answer.clone());
    let answered = move |_| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            tell.notify_one();
            wait.notified().await;
            text(StatusCode::OK, "well")
        }
    };
    let serving = serve(Arc::new(listener), options, answered, shutdown.clone());
    Running {
        address,
        shutdown,
        asked,
        answer,
        ended: tokio::spawn(serving),
    }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Connects and sends a request that is not answered yet.
    async fn ask(&self) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(REQUEST).await.unwrap();
        timeout(LONG, self.asked.notified()).await.unwrap();
        stream
    }
}

/// Reads until the server closes, or for `LONG`.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end too.
    let _ = timeout(LONG, stream.read_to_end(&mut text))
        .await
        .expect("the connection stays open");
    String::from_utf8_lossy(&text).into_owned()
}

fn tls() -> Arc<ServerConfig> {
    let own = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    Arc::new(config)
}

#[tokio::test]
async fn answers_under_way_end_before_the_server_does() {
    let running = start(ServeOptions::new("test")).await;
    let mut idle = running.connect().await;
    let mut asking = running.ask().await;
    running.shutdown.cancel();
    assert_eq!(rest(&mut idle).await, "");
    assert!(!running.ended.is_finished());
    running.answer.notify_one();
    let answer = rest(&mut asking).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("well"),
        "{answer}"
    );
    timeout(LONG, running.ended).await.unwrap().unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
}

#[tokio::test]
async fn a_shutdown_waits_for_no_answer_for_ever() {
    let mut options = ServeOptions::new("test");
    options.drain = Duration::from_millis(50);
    let running = start(options).await;
    let _asking = running.ask().await;
    running.shutdown.cancel();
    timeout(LONG, running.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn hostile_slow_handshakes_are_closed() {
    let mut options = ServeOptions::new("test").with_tls(tls());
    options.handshake_timeout = Duration::from_millis(50);
    let running = start(options).await;
    let mut silent = running.connect().await;
    assert_eq!(rest(&mut silent).await, "");
    // The first bytes of a handshake, and no more.
    let mut slow = running.connect().await;
    slow.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
    assert_eq!(rest(&mut slow).await, "");
    let mut plain = running.connect().await;
    plain.write_all(REQUEST).await.unwrap();
    assert!(!rest(&mut plain).await.contains("HTTP"));
}

#[tokio::test]
async fn hostile_slow_heads_are_closed() {
    let mut options = ServeOptions::new("test");
    options.head_timeout = Duration::from_millis(50);
    let running = start(options).await;
    let mut slow = running.connect().await;
    slow.write_all(&REQUEST[..10]).await.unwrap();
    let rest = rest(&mut slow).await;
    assert!(!rest.contains("200"), "{rest}");
}

#[tokio::test]
async fn hostile_connections_beyond_the_limit_are_closed() {
    let mut options = ServeOptions::new("test");
    options.limits.overall = 2;
    options.limits.per_peer = 2;
    options.limits.grace = Duration::ZERO;
    let running = start(options).await;
    let (mut first, mut second) = (running.ask().await, running.ask().await);
    // Both are being answered, and give way to none.
    let mut surplus = running.connect().await;
    assert_eq!(rest(&mut surplus).await, "");
    running.answer.notify_one();
    running.answer.notify_one();
    let mut head = [0; 12];
    for stream in [&mut first, &mut second] {
        timeout(LONG, stream.read_exact(&mut head))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    // Now one of them is silent, and makes room.
    let mut third = running.ask().await;
    running.answer.notify_one();
    timeout(LONG, third.read_exact(&mut head))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}
