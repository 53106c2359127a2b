//! A small S3 on loopback: objects with versions, lists in short pages, and a look at every
//! signature.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use sha2::{Digest, Sha256};

use super::http::{Request, Response, serve};

pub const ID: &str = "key-id";
pub const SECRET: &str = "key-secret";

#[derive(Clone)]
pub struct Object {
    pub version: String,
    pub bytes: Vec<u8>,
    pub headers: Vec<(String, String)>,
}

#[derive(Default)]
pub struct ServerState {
    /// Objects by key, newest last.
    pub objects: BTreeMap<String, Vec<Object>>,
    pub keeps_versions: bool,
    /// Number of answers that are cut off after the head.
    pub cuts: usize,
    next: usize,
}

pub struct S3Server {
    pub endpoint: String,
    pub state: Arc<Mutex<ServerState>>,
}

impl S3Server {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(ServerState::default()));
        let shared = state.clone();
        let host = serve(move |request| answer(&shared, &request));
        Self {
            endpoint: format!("http://{host}"),
            state,
        }
    }

    pub fn put(&self, key: &str, bytes: &[u8]) -> String {
        self.state.lock().unwrap().add(key, bytes, Vec::new())
    }

    pub fn get(&self, key: &str) -> Option<Object> {
        let state = self.state.lock().unwrap();
        state.objects.get(key)?.last().cloned()
    }
}

impl ServerState {
    fn add(&mut self, key: &str, bytes: &[u8], headers: Vec<(String, String)>) -> String {
        self.next += 1;
        let version = format!("v+{}", self.next);
        let object = Object {
            version: version.clone(),
            bytes: bytes.to_vec(),
            headers,
        };
        let versions = self.objects.entry(key.to_owned()).or_default();
        if !self.keeps_versions {
            versions.clear();
        }
        versions.push(object);
        version
    }
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = key.to_vec();
    block.resize(64, 0);
    let pad = |mask: u8| block.iter().map(|byte| byte ^ mask).collect::<Vec<u8>>();
    let inner = Sha256::digest([pad(0x36), text.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

/// True if the signature of a request is right.
fn is_signed(request: &Request) -> bool {
    let Some(header) = request.header("authorization") else {
        return false;
    };
    let part = |name: &str| {
        let start = header.find(name)? + name.len();
        header[start..].split(',').next()
    };
    let (Some(credential), Some(names), Some(signature)) = (
        part("Credential="),
        part("SignedHeaders="),
        part("Signature="),
    ) else {
        return false;
    };
    let hash = request.header("x-amz-content-sha256").unwrap_or_default();
    if hash != hex::encode(Sha256::digest(&request.body)) {
        return false;
    }
    let Some(scope) = credential.strip_prefix(&format!("{ID}/")) else {
        return false;
    };
    let mut query: Vec<&str> = request
        .query()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .collect();
    query.sort_unstable();
    let headers: String = names
        .split(';')
        .map(|name| format!("{name}:{}\n", request.header(name).unwrap_or_default()))
        .collect();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{names}\n{hash}",
        request.method,
        request.path(),
        query.join("&")
    );
    let date = request.header("x-amz-date").unwrap_or_default();
    let hash = hex::encode(Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{hash}");
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for part in scope.split('/') {
        key = hmac(&key, part.as_bytes());
    }
    signature == hex::encode(hmac(&key, text.as_bytes()))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap(), rest.next().unwrap()];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

fn answer(state: &Mutex<ServerState>, request: &Request) -> Response {
    if !is_signed(request) {
        return Response::new(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
    }
    let mut state = state.lock().unwrap();
    let pairs = request
        .query()
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    let query: BTreeMap<String, String> = pairs
        .map(|(name, value)| (name.to_owned(), decode(value)))
        .collect();
    let Some(key) = request.path().strip_prefix("/bucket/").map(decode) else {
        return Response::new(404, "<Error><Code>NoSuchBucket</Code></Error>");
    };
    match (request.method.as_str(), key.as_str()) {
        ("GET", "") if query.contains_key("versions") => versions(&state, &query),
        ("GET", "") => list(&state, &query),
        ("GET", key) if query.contains_key("tagging") => {
            let tag = format!("<Tag><Key>of</Key><Value>{key}</Value></Tag>");
            Response::new(200, format!("<Tagging><TagSet>{tag}</TagSet></Tagging>"))
        }
        ("GET", key) => {
            let found = state
                .objects
                .get(key)
                .and_then(|all| match query.get("versionId") {
                    Some(id) => all.iter().find(|object| object.version == *id),
                    None => all.last(),
                });
            let Some(object) = found.cloned() else {
                return Response::new(404, "<Error><Code>NoSuchKey</Code></Error>");
            };
            let mut response = Response::new(200, object.bytes);
            if state.cuts > 0 {
                state.cuts -= 1;
                response.cut = Some(1);
            }
            response
        }
        ("PUT", key) => {
            let version = state.add(key, &request.body, request.headers.clone());
            let response = Response::new(200, "");
            if state.keeps_versions {
                response.with("x-amz-version-id", version)
            } else {
                response
            }
        }
        _ => Response::new(405, ""),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Two entries to a page, so that there are several.
fn list(state: &ServerState, query: &BTreeMap<String, String>) -> Response {
    let prefix = &query["prefix"];
    let mut entries: Vec<(String, bool)> = Vec::new();
    for key in state.objects.keys().filter(|key| key.starts_with(prefix)) {
        let entry = match key[prefix.len()..].find('/') {
            Some(end) => (key[..prefix.len() + end + 1].to_owned(), true),
            None => (key.clone(), false),
        };
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let start: usize = query
        .get("continuation-token")
        .map_or(0, |token| token[2..].parse().unwrap());
    let mut page = String::new();
    for (name, is_folder) in entries.iter().skip(start).take(2) {
        let name = escape(name);
        page += &if *is_folder {
            format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>")
        } else {
            format!("<Contents><Key>{name}</Key><Size>1</Size></Contents>")
        };
    }
    if start + 2 < entries.len() {
        page += &format!(
            "<NextContinuationToken>a/{}</NextContinuationToken>",
            start + 2
        );
    }
    Response::new(200, format!("<ListBucketResult>{page}</ListBucketResult>"))
}

fn versions(state: &ServerState, query: &BTreeMap<String, String>) -> Response {
    let prefix = &query["prefix"];
    let all: Vec<(&String, &Object)> = state
        .objects
        .iter()
        .filter(|(key, _)| key.starts_with(prefix))
        .flat_map(|(key, versions)| versions.iter().rev().map(move |object| (key, object)))
        .collect();
    let after = query.get("version-id-marker");
    let start = after.map_or(0, |id| {
        all.iter()
            .position(|(_, object)| object.version == *id)
            .unwrap()
            + 1
    });
    let mut page = String::new();
    let shown = &all[start..all.len().min(start + 2)];
    for (key, object) in shown {
        page += &format!(
            "<Version><Key>{}</Key><VersionId>{}</VersionId></Version>",
            escape(key),
            object.version
        );
    }
    if let (Some((key, object)), true) = (shown.last(), start + 2 < all.len()) {
        page += &format!(
            "<NextKeyMarker>{key}</NextKeyMarker><NextVersionIdMarker>{}</NextVersionIdMarker>",
            object.version
        );
    }
    Response::new(
        200,
        format!("<ListVersionsResult>{page}</ListVersionsResult>"),
    )
}
