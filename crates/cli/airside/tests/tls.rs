//! The API over TLS: real certificates, real clients, files that change and files that are wrong.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::Arc,
};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustix::process::Signal;
use rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use support::{Home, Server, fly, refusal, text, wait_until};

/// A certificate of its own for this machine.
struct Made {
    cert: String,
    key: String,
}

fn make(change: impl FnOnce(&mut CertificateParams)) -> Made {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).unwrap();
    change(&mut params);
    let cert = params.self_signed(&key).unwrap();
    Made {
        cert: cert.pem(),
        key: key.serialize_pem(),
    }
}

fn put(home: &Home, made: &Made) {
    home.file("tls.crt", &made.cert);
    home.file("tls.key", &made.key);
}

fn start(home: &Home) -> Server {
    Server::start(
        home.web()
            .args(["--tls-cert", "tls.crt", "--tls-key", "tls.key"]),
    )
}

fn client(
    made: &Made,
    alpn: &[&[u8]],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(made.cert.as_bytes()).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    config
}

type Connection = StreamOwned<ClientConnection, TcpStream>;

/// Connects, if the server's certificate is the one expected.
fn connect(server: &Server, config: ClientConfig) -> std::io::Result<Connection> {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address())?);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

fn get(server: &Server, made: &Made, path: &str) -> std::io::Result<String> {
    let mut stream = connect(server, client(made, &[], rustls::DEFAULT_VERSIONS))?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    // A peer that closes without a TLS goodbye has still answered.
    let _ = stream.read_to_end(&mut answer);
    Ok(text(&answer))
}

#[test]
fn tls_is_served_and_everything_that_hangs_on_it_follows() {
    let (home, made) = (Home::new(), make(|_| ()));
    put(&home, &made);
    let server = start(&home);
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    let answer = get(&server, &made, "/api/v1/info").unwrap();
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(
        answer.contains("strict-transport-security: max-age=31536000"),
        "{answer}"
    );
    assert!(
        answer.contains(&format!("\"external_url\":\"{}\"", server.url)),
        "{answer}"
    );
    let login = get(&server, &made, "/sky/login").unwrap();
    assert!(login.contains("; Secure"), "{login}");
    // Without TLS there is no answer, and the server does not mind.
    let mut plain = TcpStream::connect(server.address()).unwrap();
    plain.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!text(&answer).contains("HTTP/1"), "{}", text(&answer));
    assert!(get(&server, &made, "/api/v1/info").is_ok());
}

#[test]
fn http_2_and_both_versions_of_tls_are_there() {
    let (home, made) = (Home::new(), make(|_| ()));
    put(&home, &made);
    let server = start(&home);
    let mut h2 = connect(
        &server,
        client(&made, &[b"h2", b"http/1.1"], rustls::ALL_VERSIONS),
    )
    .unwrap();
    assert_eq!(h2.conn.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(h2.conn.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    // The preface and empty settings; the server answers with its own settings: a frame of type 4.
    h2.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frame = [0; 9];
    h2.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "{frame:?}");
    let old = connect(
        &server,
        client(&made, &[b"http/1.1"], &[&rustls::version::TLS12]),
    )
    .unwrap();
    assert_eq!(old.conn.protocol_version(), Some(ProtocolVersion::TLSv1_2));
    assert_eq!(old.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[test]
fn a_new_certificate_is_taken_on_sighup_or_when_the_files_change_and_a_bad_one_is_not() {
    let (home, first, second) = (Home::new(), make(|_| ()), make(|_| ()));
    put(&home, &first);
    let server = start(&home);
    // The certificate comes before its key, as with any renewal: the old one stays meanwhile.
    home.file("tls.crt", &second.cert);
    server.signal(Signal::HUP);
    server.wait_for_line("new certificate refused");
    assert!(get(&server, &first, "/api/v1/info").is_ok());
    home.file("tls.key", &second.key);
    server.signal(Signal::HUP);
    wait_until("the second certificate is served", || {
        get(&server, &second, "/api/v1/info").is_ok()
    });
    assert!(get(&server, &first, "/api/v1/info").is_err());
    // No signal is sent: the change is found all the same.
    put(&home, &first);
    wait_until("the first certificate is back", || {
        get(&server, &first, "/api/v1/info").is_ok()
    });
}

#[test]
fn wrong_files_are_refused_in_words() {
    let good = make(|_| ());
    let expired = make(|params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let early = make(|params| params.not_before = date_time_ymd(4000, 1, 1));
    let rubbish = "rubbish\n".to_owned();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
    for (cert, key, expected) in [
        (&expired.cert, &expired.key, "expired on"),
        (&early.cert, &early.key, "check this machine's clock"),
        (&good.cert, &expired.key, "is not that of the certificate"),
        (&rubbish, &good.key, "there is no certificate in"),
        (&good.cert, &rubbish, "there is none in it"),
        (&good.cert, &good.cert, "there is none in it"),
        (&broken, &good.key, "cannot use the certificate in"),
    ] {
        let home = Home::new();
        home.file("tls.crt", cert);
        home.file("tls.key", key);
        let said = refusal(
            home.web()
                .args(["--tls-cert", "tls.crt", "--tls-key", "tls.key"]),
        );
        assert!(said.contains(expected), "{expected:?}: {said}");
        assert!(said.contains("tls."), "{said}");
    }
    let home = Home::new();
    put(&home, &good);
    for (args, expected) in [
        (vec!["--tls-cert", "tls.crt"], "without --tls-key"),
        (vec!["--tls-key", "tls.key"], "without --tls-cert"),
        (
            vec!["--tls-cert", "gone", "--tls-key", "tls.key"],
            "cannot read the certificate gone",
        ),
        (
            vec!["--tls-cert", "tls.crt", "--tls-key", "gone"],
            "cannot read the key gone",
        ),
    ] {
        let said = refusal(home.web().args(&args));
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn fly_logs_in_with_the_certificate() {
    let (home, made) = (Home::new(), make(|_| ()));
    put(&home, &made);
    let server = start(&home);
    let run = |args: &[&str]| {
        let mut command = fly(home.path())?;
        Some(
            command
                .current_dir(home.path())
                .args(args)
                .output()
                .unwrap(),
        )
    };
    let login = [
        "-t",
        "ci",
        "login",
        "-c",
        &server.url,
        "-u",
        "admin",
        "-p",
        "secret",
    ];
    let Some(refused) = run(&login) else {
        eprintln!("skipped: AIRSIDE_FLY does not say where fly is");
        return;
    };
    assert!(
        !refused.status.success(),
        "it knows nothing of this certificate"
    );
    let trusted = run(&[&login[..], &["--ca-cert", "tls.crt"]].concat()).unwrap();
    assert!(trusted.status.success(), "{}", text(&trusted.stderr));
    for args in [
        vec!["-t", "ci", "status"],
        vec!["-t", "ci", "pipelines"],
        vec!["-t", "ci", "teams"],
    ] {
        let output = run(&args).unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    assert!(fs::exists(Path::new(home.path()).join(".flyrc")).unwrap());
}
