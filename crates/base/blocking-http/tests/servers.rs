//! Servers that behave, and servers that do not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use airside_blocking_http::{
    Address, Client, ClientIdentity, Error, Payload, Request, RequestTimeouts, Tls, Trust,
};
use rustls::server::WebPkiClientVerifier;

type Heads = Arc<Mutex<Vec<String>>>;

/// A server that hands each connection to `script`, with the head of its first request.
fn serve(script: impl Fn(TcpStream, String, usize) + Send + Sync + 'static) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heads = Heads::default();
    let (seen, script) = (heads.clone(), Arc::new(script));
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let (seen, script) = (seen.clone(), script.clone());
            thread::spawn(move || {
                // Not a byte more than the head.
                let mut reader = BufReader::with_capacity(1, stream.try_clone().unwrap());
                let head = head(&mut reader);
                seen.lock().unwrap().push(head.clone());
                script(stream, head, number);
            });
        }
    });
    (address, heads)
}

fn head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    head
}

/// A server that says one thing to everybody.
fn says(text: &'static str) -> String {
    serve(move |mut stream, _, _| stream.write_all(text.as_bytes()).unwrap()).0
}

/// Second tries come soon; everything else has time.
fn patience() -> RequestTimeouts {
    RequestTimeouts {
        tries: 3,
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
        ..RequestTimeouts::default()
    }
}

fn client() -> Client {
    Client::with_patience(&Trust::Public, patience()).unwrap()
}

fn get(url: &str) -> Result<String, Error> {
    let bytes = client().fetch(Request::get(Address::parse(url)?), 1000)?;
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn bodies_of_every_kind() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ] {
        assert_eq!(get(&says(text)).unwrap(), "hello", "{text}");
    }
}

#[test]
fn misbehaviour_is_told_in_words() {
    let cases: [(&'static str, &str); 9] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            "ended its answer early",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhe",
            "ended its answer early",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "has no size",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "is not a number",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP: SSH-2.0"),
        ("", "ended its answer early"),
        (
            "HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nnot  here",
            "is answered with 404: not here",
        ),
        (
            "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            "is answered with 500",
        ),
        (
            "HTTP/1.1 302 No\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
            "without end",
        ),
    ];
    for (text, words) in cases {
        let error = get(&says(text)).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    let error = get("http://127.0.0.1:1/").unwrap_err().to_string();
    assert!(error.contains("cannot reach 127.0.0.1:1"), "{error}");
    let large = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n";
    let url = serve(move |mut stream, _, _| {
        stream.write_all(large.as_bytes()).unwrap();
        let _ = stream.write_all(&[b'x'; 2000]);
    });
    let error = get(&url.0).unwrap_err().to_string();
    assert!(error.contains("more than 1000 bytes"), "{error}");
}

/// Waits until the other side hangs up.
fn until_closed(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

#[test]
fn silence_and_dribbling_end() {
    let (silent, _) = serve(|stream, _, _| until_closed(stream));
    let get = |url: &str, patience: RequestTimeouts| {
        let client = Client::with_patience(&Trust::Public, patience).unwrap();
        client.fetch(Request::get(Address::parse(url).unwrap()), 1000)
    };
    let silence = Duration::from_millis(100);
    let error = get(
        &silent,
        RequestTimeouts {
            silence,
            ..patience()
        },
    )
    .unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error}");
    let (slow, _) = serve(|mut stream, _, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n");
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        // A byte now and then, until the client has gone.
        while stream.write_all(b"x").is_ok() {
            if stream.read(&mut [0; 1]).is_ok() {
                break;
            }
        }
    });
    let hasty = RequestTimeouts {
        grace: Duration::from_millis(1200),
        speed: 1 << 20,
        ..patience()
    };
    let error = get(&slow, hasty).unwrap_err();
    assert!(matches!(error, Error::Slow { .. }), "{error}");
}

#[test]
fn servers_in_trouble_get_a_second_chance() {
    let answers = [
        "HTTP/1.1 429 Later\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ];
    let (url, heads) = serve(move |mut stream, _, number| {
        stream.write_all(answers[number.min(2)].as_bytes()).unwrap();
    });
    assert_eq!(get(&url).unwrap(), "ok");
    assert_eq!(heads.lock().unwrap().len(), 3);
    // Too long a wait is an answer too.
    let url = says("HTTP/1.1 429 Later\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(get(&url).unwrap_err().status(), Some(429));
}

#[test]
fn credentials_stay_with_their_host() {
    let (other, heads) = serve(|mut stream, _, _| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
    });
    let (first, _) = serve(move |mut stream, _, _| {
        let answer =
            format!("HTTP/1.1 307 There\r\nLocation: {other}/x\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let request = Request::get(Address::parse(&first).unwrap());
    let request = request
        .header("Authorization", "secret")
        .header("Accept", "x");
    assert_eq!(client().fetch(request, 100).unwrap(), b"ok");
    let head = heads.lock().unwrap()[0].clone();
    assert!(
        head.starts_with("GET /x HTTP/1.1\r\n") && head.contains("Accept: x"),
        "{head}"
    );
    assert!(!head.contains("secret"), "{head}");
}

#[test]
fn hostile_redirections_get_no_header_that_may_be_a_credential() {
    let (other, heads) = serve(|mut stream, _, _| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .unwrap();
    });
    let (first, _) = serve(move |mut stream, _, _| {
        let answer =
            format!("HTTP/1.1 307 There\r\nLocation: {other}/x\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let mut request = Request::get(Address::parse(&first).unwrap());
    for name in [
        "PRIVATE-TOKEN",
        "X-Vault-Token",
        "x-amz-security-token",
        "Cookie",
    ] {
        request = request.header(name, "s3cret");
    }
    request = request.header("Accept", "a").header("Range", "bytes=0-1");
    assert_eq!(client().fetch(request, 100).unwrap(), b"ok");
    let head = heads.lock().unwrap()[0].clone();
    assert!(!head.contains("s3cret"), "{head}");
    assert!(
        head.contains("Accept: a\r\n") && head.contains("Range: bytes=0-1\r\n"),
        "{head}"
    );
}

#[test]
fn hostile_leads_to_this_machine_are_refused() {
    let (near, heads) = serve(|_, _, _| {});
    let port = near.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let address = Address::parse(&format!("http://{host}:{port}/")).unwrap();
        let asked = client().send(Request::get(address).not_nearby());
        assert!(matches!(asked, Err(Error::Address { .. })), "{host}");
    }
    assert_eq!(heads.lock().unwrap().len(), 0);
}

#[test]
fn a_connection_serves_again_and_may_be_gone() {
    let (url, heads) = serve(|stream, _, _| {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        (&stream).write_all(answer).unwrap();
        // One more on the same connection, and then it is closed.
        if head(&mut reader).len() > 4 {
            (&stream).write_all(answer).unwrap();
        }
    });
    let client = client();
    for _ in 0..5 {
        let request = Request::get(Address::parse(&url).unwrap());
        assert_eq!(client.fetch(request, 100).unwrap(), b"ok");
    }
    assert_eq!(heads.lock().unwrap().len(), 3);
}

#[test]
fn payloads_are_sent_whole_and_headers_have_one_line() {
    let (url, _) = serve(|mut stream, head, _| {
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(answer.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
    });
    let post = || Request::new("POST", Address::parse(&url).unwrap());
    let answer = client().fetch(post().payload(Payload::Bytes(b"bytes")), 100);
    assert_eq!(answer.unwrap(), b"bytes");
    let mut from = &b"streamed and more"[..];
    let answer = client().fetch(post().payload(Payload::Stream(&mut from, 8)), 100);
    assert_eq!(answer.unwrap(), b"streamed");
    let error = client()
        .send(post().header("A", "b\r\nC: d"))
        .err()
        .unwrap();
    assert!(error.to_string().contains("line break"), "{error}");
}

/// A server of this name on this machine; it lets in every client, or only one that shows this
/// certificate.
fn tls_server(name: &str, visitor: Option<&rcgen::Certificate>) -> (String, String, Receiver<()>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    tls_server_with(&made.cert, &made.signing_key, visitor)
}

/// A server that shows this certificate.
fn tls_server_with(
    certificate: &rcgen::Certificate,
    key: &rcgen::KeyPair,
    visitor: Option<&rcgen::Certificate>,
) -> (String, String, Receiver<()>) {
    let (pem, key) = (certificate.pem(), key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match visitor {
        None => builder.with_no_client_auth(),
        Some(visitor) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(visitor.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let config = builder
        .with_single_cert(vec![certificate.der().clone()], key.try_into().unwrap())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let (config, (sender, receiver)) = (Arc::new(config), channel());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = BufReader::new(rustls::StreamOwned::new(session, stream));
            let mut line = String::new();
            if stream.read_line(&mut line).is_ok() {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                let _ = stream.get_mut().write_all(answer);
            }
            let _ = sender.send(());
        }
    });
    (url, pem, receiver)
}

/// Makes a certificate as `openssl req -x509` does: signed by itself, and allowed to sign others.
fn authority_of(name: &str) -> (rcgen::Certificate, rcgen::KeyPair) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut wanted = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    wanted.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    (wanted.self_signed(&key).unwrap(), key)
}

#[test]
fn a_server_may_show_the_very_certificate_that_was_given() {
    let (certificate, key) = authority_of("localhost");
    let (url, pem, _done) = tls_server_with(&certificate, &key, None);
    let fetch = |url: &str, trust: Trust| {
        let client = Client::with_patience(&trust, patience())?;
        client.fetch(Request::get(Address::parse(url)?), 100)
    };
    assert_eq!(fetch(&url, Trust::Also(vec![pem.clone()])).unwrap(), b"ok");
    let (other, _) = authority_of("localhost");
    let error = fetch(&url, Trust::Also(vec![other.pem()])).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("not the one that was given to trust"),
        "{words}"
    );
    assert!(std::error::Error::source(&error).is_none(), "{words}");
    // It is trusted under its own names alone.
    let elsewhere = url.replace("localhost", "127.0.0.1");
    fetch(&elsewhere, Trust::Also(vec![pem])).unwrap_err();
}

#[test]
fn a_plain_server_that_is_asked_for_tls_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n");
            // Closing at once would lose the answer with what was not read.
            let _ = stream.read(&mut [0; 4096]);
        }
    });
    let client = Client::with_patience(&Trust::Public, patience()).unwrap();
    let address = Address::parse(&format!("https://127.0.0.1:{port}/v2/")).unwrap();
    let error = client.fetch(Request::get(address), 100).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains(&format!("127.0.0.1:{port} does not speak TLS")),
        "{words}"
    );
    assert!(words.contains("insecure: true"), "{words}");
}

#[test]
fn certificates_are_checked_unless_told_otherwise() {
    let (url, pem, _done) = tls_server("localhost", None);
    let fetch = |trust: Trust| {
        let client = Client::with_patience(&trust, patience())?;
        client.fetch(Request::get(Address::parse(&url)?), 100)
    };
    let error = fetch(Trust::Public).unwrap_err().to_string();
    assert!(error.contains("cannot be trusted"), "{error}");
    assert_eq!(fetch(Trust::Also(vec![pem])).unwrap(), b"ok");
    assert_eq!(fetch(Trust::Anybody).unwrap(), b"ok");
    for bad in [
        "",
        "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
    ] {
        let error = fetch(Trust::Also(vec![bad.to_owned()])).unwrap_err();
        assert!(matches!(error, Error::Certificate(_)), "{error}");
    }
}

#[test]
fn a_server_may_ask_who_we_are_and_be_called_otherwise() {
    let me = rcgen::generate_simple_self_signed(vec!["me".to_owned()]).unwrap();
    let (url, pem, _done) = tls_server("vault.example.org", Some(&me.cert));
    let identity = ClientIdentity {
        certificate: me.cert.pem(),
        key: me.signing_key.serialize_pem(),
    };
    let fetch = |identity: Option<&ClientIdentity>, server_name: Option<&str>| {
        let tls = Tls {
            trust: Trust::Also(vec![pem.clone()]),
            identity: identity.cloned(),
            server_name: server_name.map(str::to_owned),
        };
        let client = Client::with_tls(&tls, patience())?;
        client.fetch(Request::get(Address::parse(&url)?), 100)
    };
    let name = Some("vault.example.org");
    assert_eq!(fetch(Some(&identity), name).unwrap(), b"ok");
    assert!(fetch(None, name).is_err());
    assert!(fetch(Some(&identity), None).is_err());
    let wrong = ClientIdentity {
        key: "hunter2".to_owned(),
        ..identity
    };
    let words = fetch(Some(&wrong), name).unwrap_err().to_string();
    assert!(
        words.ends_with("the client's key is not a private key"),
        "{words}"
    );
    assert!(!format!("{wrong:?}").contains("hunter2"));
}

/// The switch is for the whole process; all other tests are on loopback.
#[test]
fn hostile_addresses_of_the_link_are_refused_once_it_is_closed() {
    assert!(!airside_blocking_http::is_closed_link("169.254.169.254"));
    airside_blocking_http::close_link();
    let client = client();
    for host in [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "0xA9FEA9FE",
        "2852039166",
    ] {
        assert!(airside_blocking_http::is_closed_link(host), "{host}");
        let address = Address::parse(&format!("http://{host}/latest/meta-data")).unwrap();
        let refused = client.send(Request::get(address)).err().unwrap();
        assert!(matches!(refused, Error::Address { .. }), "{refused}");
    }
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        assert!(!airside_blocking_http::is_closed_link(host), "{host}");
    }
}
