//! HTTP/1.1, one request for each connection.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::Value;

/// A request to the API server.
#[derive(Clone, Debug)]
pub(crate) struct KubeRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    query: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) is_apply: bool,
    pub(crate) watch: bool,
}

impl KubeRequest {
    pub(crate) fn query(&self, key: &str) -> &str {
        let found = self.query.iter().find(|(one, _)| one == key);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.query("dryRun") == "All"
    }

    /// Returns plural, name and subresource of an object of the namespace.
    pub(crate) fn place(&self) -> (&str, &str, &str) {
        let mut parts = self
            .path
            .split("/namespaces/")
            .nth(1)
            .unwrap_or_default()
            .split('/')
            .skip(1);
        let mut next = || parts.next().unwrap_or_default();
        (next(), next(), next())
    }
}

pub(super) fn read(stream: &mut TcpStream) -> Option<KubeRequest> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let mut some = [0; 4096];
        let read = stream.read(&mut some).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&some[..read]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?);
    let header = |name: &str| {
        let is_it = |line: &&str| line.to_lowercase().starts_with(&format!("{name}:"));
        let line = text.lines().find(is_it)?;
        Some(line[name.len() + 1..].trim().to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = bytes.split_off(head + 4);
    let have = body.len();
    body.resize(length, 0);
    if have < length {
        stream.read_exact(&mut body[have..]).ok()?;
    }
    let url = url::Url::parse(&format!("http://server{target}")).ok()?;
    let query: Vec<_> = url.query_pairs().into_owned().collect();
    Some(KubeRequest {
        method,
        path: url.path().to_owned(),
        watch: query
            .iter()
            .any(|(key, value)| key == "watch" && value == "true"),
        query,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        is_apply: header("content-type").is_some_and(|type_| type_.contains("apply-patch")),
    })
}

pub(super) fn write(stream: &mut TcpStream, (code, body): (u16, Value)) {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {code} Answer\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A client that went away needs no answer.
    let _ = stream.write_all((head + &body).as_bytes());
}

pub(super) fn begin_stream(stream: &mut TcpStream) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).is_ok()
}

/// Returns false if the client is gone.
pub(super) fn write_part(stream: &mut TcpStream, part: &str) -> bool {
    stream.write_all(part.as_bytes()).is_ok()
}
