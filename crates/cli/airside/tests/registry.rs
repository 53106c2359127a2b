//! The registry of images beside the API: served at its address, and to no client without a token.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use support::{Home, Server, refusal};

/// Returns the address that the log reports.
fn address(server: &Server) -> String {
    let log = server.log();
    let line = log
        .lines()
        .find(|line| line.contains("image registry started"));
    let (_, address) = line.unwrap().split_once("address=").unwrap();
    address.trim().to_owned()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_is_served_where_it_is_asked_for() {
    let home = Home::new();
    let mut command = home.web();
    let command = command.args(["--registry-listen", "127.0.0.1:0"]);
    let server = Server::start(command.env("NO_COLOR", "1"));
    let registry = address(&server);
    for path in ["/v2/", "/v2/team/main/a/manifests/latest", "/api/v1/info"] {
        let answer = get(&registry, path);
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
        assert!(answer.contains("UNAUTHORIZED"), "{path}: {answer}");
    }
    // And nowhere else.
    let api = server.address().to_string();
    assert!(!get(&api, "/v2/").contains("UNAUTHORIZED"));
}

#[test]
fn a_target_cannot_use_one_that_is_not_served() {
    let home = Home::new();
    home.file("kubeconfig", "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n\
         users: [{name: c, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: c}}]\ncurrent-context: c\n");
    let target =
        "name=a,namespace=ci,hub_host=127.0.0.1,kubeconfig=kubeconfig,registry=localhost:5000";
    let words = refusal(home.web().args(["--target", target]));
    assert!(words.contains("start it with --registry-listen"), "{words}");
}
