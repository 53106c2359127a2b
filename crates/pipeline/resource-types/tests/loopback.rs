//! A server on loopback that a step cannot reach: the message says what helps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::TcpListener;

use serde_json::{Value, json};

/// Runs a get and returns what it logs.
fn logged(type_: &str, source: &Value) -> String {
    let dest = tempfile::tempdir().unwrap();
    let version = json!({"ref": "HEAD", "digest": format!("sha256:{}", "0".repeat(64))});
    let request = json!({"source": source, "version": version}).to_string();
    let args = [type_, "in", dest.path().to_str().unwrap()].map(str::to_owned);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code =
        airside_resource_types::main(&args, &mut request.as_bytes(), &mut stdout, &mut stderr);
    assert_eq!(code, 1);
    String::from_utf8(stderr).unwrap()
}

#[test]
fn only_a_refusal_on_loopback_gets_the_hint() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let hint = "--local-network machine";
    let git = json!({"uri": format!("git://127.0.0.1:{port}/app.git"), "branch": "main"});
    let log = logged("git", &git);
    assert!(log.contains(hint), "{log}");
    let image = json!({"repository": format!("127.0.0.1:{port}/app"), "insecure": true});
    let log = logged("registry-image", &image);
    assert!(log.contains(hint), "{log}");

    // What a server says about loopback changes nothing.
    let elsewhere = json!({"uri": "git://connection-refused.localhost.invalid/127.0.0.1"});
    let log = logged("git", &elsewhere);
    assert!(!log.contains(hint), "{log}");
}
