//! `registry-image` against registries that ask for tokens, stand in for others, or fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use common::{
    Type,
    http::{Request, Response, serve},
    image::{digest, gzip, tarball},
};
use serde_json::{Value, json};
use tempfile::tempdir;

const IMAGE: Type = Type("registry-image");

/// One image of one layer, and how to serve it.
struct Image {
    manifest: Vec<u8>,
    config: Vec<u8>,
    layer: Vec<u8>,
}

impl Image {
    fn new() -> Self {
        let layer = gzip(&tarball(&[("f", &[b'x'; 5000])]));
        let config = common::image::config("amd64").to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "c", "digest": digest(&config), "size": config.len()},
            "layers": [{"mediaType": "l", "digest": digest(&layer), "size": layer.len()}],
        });
        Self {
            manifest: manifest.to_string().into_bytes(),
            config,
            layer,
        }
    }

    fn version(&self) -> Value {
        json!({"tag": "t", "digest": digest(&self.manifest)})
    }

    fn answer(&self, request: &Request) -> Response {
        let reference = request.path().rsplit('/').next().unwrap();
        if request.path() == "/v2/" {
            return Response::new(200, "{}");
        }
        if request.path().contains("/manifests/") {
            let found = reference == "t" || reference == digest(&self.manifest);
            return if found {
                Response::new(200, self.manifest.clone())
                    .with("Docker-Content-Digest", digest(&self.manifest))
            } else {
                Response::new(404, "{}")
            };
        }
        let blob = [&self.config, &self.layer]
            .into_iter()
            .find(|blob| digest(blob) == reference);
        match blob {
            Some(blob) => Response::new(200, blob.clone()),
            None => Response::new(404, "{}"),
        }
    }

    fn is_layer(&self, request: &Request) -> bool {
        request.path().ends_with(&digest(&self.layer))
    }
}

fn get(host: &str, image: &Image) -> common::Ran {
    let folder = tempdir().unwrap();
    let source = json!({"repository": format!("{host}/a")});
    let ran = IMAGE.fetch(
        folder.path(),
        json!({"source": source, "version": image.version()}),
    );
    if ran.status != 0 {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    ran
}

#[test]
fn tokens_are_fetched_with_the_users_password() {
    let image = Image::new();
    let version = image.version();
    let token = serve(|request| {
        let query = request.query().to_owned();
        let known = request.header("authorization") == Some("Basic bWU6cHc=");
        if known && query.contains("scope=repository%3Aa%2Fb%3Apull") && query.contains("service=s")
        {
            Response::new(200, r#"{"token": "t0ken"}"#)
        } else {
            Response::new(401, "who are you?")
        }
    });
    let host = serve(move |request| match request.header("authorization") {
        Some("Bearer t0ken") => image.answer(&request),
        _ => {
            let challenge = format!("Bearer realm=\"http://{token}/token\",service=\"s\"");
            Response::new(401, "{}").with("WWW-Authenticate", challenge)
        }
    });
    let source = |password: &str| json!({"repository": format!("{host}/a/b"), "tag": "t", "username": "me", "password": password});
    let found = IMAGE.check(json!({"source": source("pw")})).ok();
    assert_eq!(found, json!([version]));
    let ran = IMAGE.check(json!({"source": source("bad")}));
    assert!(!ran.log.contains("bad"), "{}", ran.log);
    ran.fails_with("gives us no token: are username and password right?");
}

#[test]
fn registries_in_trouble_are_told_in_words() {
    for (status, words) in [
        (429, "says that it is asked too often"),
        (500, "has trouble with"),
        (403, "denies access to"),
    ] {
        let image = Image::new();
        let host = serve(move |request| match request.path() {
            "/v2/" => image.answer(&request),
            _ => Response::new(status, "no").with("Retry-After", "3600"),
        });
        let source = json!({"repository": format!("{host}/a"), "tag": "t"});
        IMAGE.check(json!({"source": source})).fails_with(words);
    }
}

#[test]
fn a_registry_that_recovers_is_asked_again() {
    let (image, asked) = (Image::new(), Arc::new(AtomicUsize::new(0)));
    let (version, count) = (image.version(), asked.clone());
    let host = serve(move |request| {
        if request.path() != "/v2/" && count.fetch_add(1, Ordering::SeqCst) == 0 {
            return Response::new(429, "").with("Retry-After", "0");
        }
        image.answer(&request)
    });
    let source = json!({"repository": format!("{host}/a"), "tag": "t"});
    let found = IMAGE.check(json!({"source": source})).ok();
    assert_eq!((found, asked.load(Ordering::SeqCst)), (json!([version]), 2));
}

#[test]
fn a_layer_that_breaks_off_is_fetched_again_but_not_for_ever() {
    for (failures, works) in [(1, true), (usize::MAX, false)] {
        let (image, served) = (Image::new(), Image::new());
        let asked = AtomicUsize::new(0);
        let host = serve(move |request| {
            let mut response = served.answer(&request);
            if served.is_layer(&request) && asked.fetch_add(1, Ordering::SeqCst) < failures {
                response.cut = Some(20);
            }
            response
        });
        let ran = get(&host, &image);
        if works {
            drop(ran.ok())
        } else {
            ran.fails_with("ended its answer early")
        }
    }
}

#[test]
fn what_is_not_what_it_should_be_is_refused() {
    let (image, served) = (Image::new(), Image::new());
    let host = serve(move |request| {
        if served.is_layer(&request) {
            Response::new(200, "something else")
        } else {
            served.answer(&request)
        }
    });
    get(&host, &image).fails_with("is damaged: it is sha256:");
    let host = serve(|request| match request.path() {
        "/v2/" => Response::new(200, "{}"),
        _ => Response::new(200, "{}"),
    });
    get(&host, &image).fails_with("is damaged");
}

#[test]
fn a_mirror_stands_in_for_the_default_registry_alone() {
    let image = Image::new();
    let version = image.version();
    let mirror = serve(move |request| {
        if request.path().contains("/library/a/") || request.path() == "/v2/" {
            image.answer(&request)
        } else {
            Response::new(404, "{}")
        }
    });
    let source = json!({"repository": "a", "tag": "t", "registry_mirror": {"host": mirror}});
    let found = IMAGE.check(json!({"source": source})).ok();
    assert_eq!(found, json!([version]));
    let folder = tempdir().unwrap();
    IMAGE
        .fetch(folder.path(), json!({"source": source, "version": version}))
        .ok();
    let source =
        json!({"repository": "127.0.0.1:1/a", "tag": "t", "registry_mirror": {"host": mirror}});
    IMAGE
        .check(json!({"source": source}))
        .fails_with("cannot reach 127.0.0.1:1");
}

#[test]
fn hostile_layer_is_no_longer_than_its_manifest_says() {
    let mut image = Image::new();
    image.layer = vec![b'x'; 1 << 20];
    let manifest = json!({
        "schemaVersion": 2,
        "config": {"mediaType": "c", "digest": digest(&image.config), "size": image.config.len()},
        "layers": [{"mediaType": "l", "digest": digest(&image.layer), "size": 10}],
    });
    image.manifest = manifest.to_string().into_bytes();
    let image = Arc::new(image);
    let served = image.clone();
    let host = serve(move |request| served.answer(&request));
    get(&host, &image).fails_with("is longer than the 10 bytes it should have");
}

#[test]
fn hostile_realm_on_this_machine_hears_nothing() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let near = serve(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
        Response::new(200, json!({"token": "t"}).to_string())
    });
    let realm = format!("Bearer realm=\"http://{near}/latest/meta-data\",service=\"s\"");
    let host = serve(move |_| Response::new(401, "").with("WWW-Authenticate", realm.clone()));
    let port = host.rsplit(':').next().unwrap();
    // By another name than the realm's, as a registry elsewhere would have.
    let source = json!({"repository": format!("localhost:{port}/a"), "tag": "t"});
    IMAGE
        .check(json!({"source": source}))
        .fails_with("which is this machine or its link");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn hostile_answers_are_repeated_in_part_only() {
    let words = "k3y ".repeat(1000);
    let host = serve(move |request| match request.path() {
        "/v2/" => Response::new(200, "{}"),
        _ => Response::new(403, format!("\u{1b}[2J{words}")),
    });
    let ran = get(&host, &Image::new());
    assert_eq!(ran.status, 1);
    let count = ran.log.matches("k3y").count();
    assert!(
        (1..50).contains(&count) && !ran.log.contains('\u{1b}'),
        "{}",
        ran.log
    );
}
