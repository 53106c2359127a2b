//! `http` against a small server on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{
    fs,
    sync::{Arc, Mutex},
};

use common::{
    Type,
    http::{Request, Response, serve},
    image::digest,
};
use serde_json::{Value, json};
use tempfile::tempdir;

const HTTP: Type = Type("http");

/// A file, and what the server says about it.
struct Page {
    bytes: Vec<u8>,
    etag: Option<String>,
    modified: Option<String>,
    knows_head: bool,
    cut: Option<usize>,
}

type Shared = Arc<Mutex<Page>>;

fn server() -> (String, Shared) {
    let page = Arc::new(Mutex::new(Page {
        bytes: b"hello".to_vec(),
        etag: Some("\"one\"".to_owned()),
        modified: Some("Fri, 02 Jan 2026 03:04:05 GMT".to_owned()),
        knows_head: true,
        cut: None,
    }));
    let shared = page.clone();
    let host = serve(move |request| answer(&mut shared.lock().unwrap(), request));
    (format!("http://{host}/files/data.txt?key=secret"), page)
}

fn answer(page: &mut Page, request: Request) -> Response {
    if request.path() == "/private" && request.header("authorization") != Some("Basic bWU6cHc=") {
        return Response::new(401, "");
    }
    if request.path() == "/none" {
        return Response::new(404, "");
    }
    match request.method.as_str() {
        "PUT" => {
            page.bytes = request.body;
            page.etag = Some(format!("\"{}\"", page.bytes.len()));
            Response::new(201, "")
        }
        "HEAD" if !page.knows_head => Response::new(405, ""),
        _ => {
            let mut response = Response::new(200, page.bytes.clone());
            if let Some(etag) = &page.etag {
                response = response.with("ETag", etag);
            }
            if let Some(modified) = &page.modified {
                response = response.with("Last-Modified", modified);
            }
            response.cut = page.cut;
            response
        }
    }
}

#[test]
fn versions_are_told_by_the_best_that_the_server_has() {
    let (url, page) = server();
    let check = |version: Value| {
        HTTP.check(json!({"source": {"url": url}, "version": version}))
            .ok()
    };
    let one = json!({"etag": "\"one\""});
    assert_eq!(check(Value::Null), json!([one]));
    assert_eq!(check(one.clone()), json!([one]));
    assert_eq!(
        check(json!({"etag": "\"zero\""})),
        json!([{"etag": "\"zero\""}, one])
    );
    page.lock().unwrap().knows_head = false;
    assert_eq!(check(Value::Null), json!([one]));
    page.lock().unwrap().etag = None;
    assert_eq!(
        check(Value::Null),
        json!([{"last_modified": "Fri, 02 Jan 2026 03:04:05 GMT"}])
    );
    page.lock().unwrap().modified = None;
    assert_eq!(
        check(Value::Null),
        json!([{"sha256": &digest(b"hello")[7..]}])
    );
}

#[test]
fn a_file_is_fetched_if_it_is_still_the_one() {
    let (url, page) = server();
    let get = |source: Value, version: Value| {
        let folder = tempdir().unwrap();
        let ran = HTTP.fetch(folder.path(), json!({"source": source, "version": version}));
        if ran.status != 0 {
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        (folder, ran)
    };
    let one = json!({"etag": "\"one\""});
    let (folder, ran) = get(json!({"url": url}), one.clone());
    let answer = ran.ok();
    assert_eq!(answer["version"], one);
    assert!(!answer.to_string().contains("secret"), "{answer}");
    assert_eq!(
        fs::read_to_string(folder.path().join("data.txt")).unwrap(),
        "hello"
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("version")).unwrap(),
        "\"one\""
    );
    let (folder, ran) = get(json!({"url": url, "filename": "other"}), one.clone());
    ran.ok();
    assert!(folder.path().join("other").exists());
    let hash = json!({"sha256": &digest(b"hello")[7..]});
    get(json!({"url": url}), hash).1.ok();
    get(json!({"url": url}), json!({"etag": "\"zero\""}))
        .1
        .fails_with("has changed: version");
    page.lock().unwrap().cut = Some(2);
    get(json!({"url": url}), one)
        .1
        .fails_with("ended its answer early");
}

#[test]
fn a_file_is_sent() {
    let (url, page) = server();
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("new.txt"), "new content").unwrap();
    let put = |params: Value| {
        HTTP.push(
            inputs.path(),
            json!({"source": {"url": url}, "params": params}),
        )
    };
    let answer = put(json!({"file": "*.txt", "content_type": "text/plain"})).ok();
    assert_eq!(answer["version"], json!({"etag": "\"11\""}));
    assert_eq!(page.lock().unwrap().bytes, b"new content");
    put(json!({})).fails_with("params.file is missing");
    put(json!({"file": "none"})).fails_with("params.file is \"none\"");
}

#[test]
fn users_headers_and_mistakes() {
    let (url, _page) = server();
    let private = url.replace("files/data.txt?key=secret", "private");
    for source in [
        json!({"url": private, "username": "me", "password": "pw"}),
        json!({"url": private, "headers": {"Authorization": "Basic bWU6cHc="}}),
    ] {
        HTTP.check(json!({"source": source})).ok();
    }
    let none = url.replace("files/data.txt", "none");
    for (source, words) in [
        (json!({"url": private}), "check username and password"),
        (json!({"url": none}), "there is nothing at http://"),
        (json!({}), "source.url is missing"),
        (json!({"url": "ftp://x"}), "source.url is not valid"),
        (json!({"url": "http://me:pw@x"}), "source.url is not valid"),
        (
            json!({"url": url, "headers": {"A b": "c"}}),
            "source.headers",
        ),
        (
            json!({"url": url, "headers": {"A": "b\nc"}}),
            "source.headers",
        ),
        (json!({"url": url, "filename": "a/b"}), "source.filename"),
        (json!({"url": url, "ca_certs": ["x"]}), "source.ca_certs"),
        (json!({"url": url, "bogus": 1}), "bogus"),
        (
            json!({"url": "http://127.0.0.1:1/"}),
            "cannot reach 127.0.0.1:1",
        ),
    ] {
        let ran = HTTP.check(json!({"source": source}));
        assert!(
            !ran.log.contains("secret") && !ran.log.contains("pw@"),
            "{}",
            ran.log
        );
        ran.fails_with(words);
    }
}
