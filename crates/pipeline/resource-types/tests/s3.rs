//! `s3` against a small server that looks at every signature.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::fs;

use common::{
    Ran, Type,
    image::{gzip, tarball},
    s3_server::{ID, S3Server, SECRET},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const S3: Type = Type("s3");

fn source(server: &S3Server, mut more: Value) -> Value {
    for (key, value) in [
        ("endpoint", server.endpoint.as_str()),
        ("bucket", "bucket"),
        ("access_key_id", ID),
        ("secret_access_key", SECRET),
    ] {
        if more.get(key).is_none() {
            more[key] = json!(value);
        }
    }
    more
}

fn check(server: &S3Server, more: Value, version: Value) -> Value {
    S3.check(json!({"source": source(server, more), "version": version}))
        .ok()
}

fn get(server: &S3Server, more: Value, params: Value, version: Value) -> (TempDir, Ran) {
    let folder = tempdir().unwrap();
    let request = json!({"source": source(server, more), "params": params, "version": version});
    let ran = S3.fetch(folder.path(), request);
    (folder, ran)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn paths_with_versions_are_sorted_and_counted_from() {
    let server = S3Server::start();
    for key in [
        "r/app-1.10.0.tgz",
        "r/app-1.2.0.tgz",
        "r/app-2.0.0-rc.1.tgz",
        "r/app-2.0.0.tgz",
        "r/other",
        "q/x 1/app-7.tgz",
        "q/x&2/app-8.tgz",
        "q/y/app-9.tgz",
        "app-3",
    ] {
        server.put(key, b"x");
    }
    let paths = |names: &[&str]| {
        names
            .iter()
            .map(|name| json!({"path": name}))
            .collect::<Value>()
    };
    let regexp = json!({"regexp": "r/app-(.*).tgz"});
    for (more, version, expected) in [
        (regexp.clone(), Value::Null, paths(&["r/app-2.0.0.tgz"])),
        (
            regexp.clone(),
            json!({"path": "r/app-1.10.0.tgz"}),
            paths(&[
                "r/app-1.10.0.tgz",
                "r/app-2.0.0-rc.1.tgz",
                "r/app-2.0.0.tgz",
            ]),
        ),
        (
            regexp,
            json!({"path": "elsewhere"}),
            paths(&["r/app-2.0.0.tgz"]),
        ),
        (
            json!({"regexp": "q/x.*/app-(.*).tgz"}),
            json!({"path": "q/x 1/app-7.tgz"}),
            paths(&["q/x 1/app-7.tgz", "q/x&2/app-8.tgz"]),
        ),
        (
            json!({"regexp": "^app-(.*)$"}),
            Value::Null,
            paths(&["app-3"]),
        ),
        (json!({"regexp": "none-(.*)"}), Value::Null, json!([])),
        (
            json!({"regexp": "none-(.*)", "initial_path": "none-0.1"}),
            Value::Null,
            paths(&["none-0.1"]),
        ),
        (
            json!({"regexp": "r/app-(.*).tgz", "initial_path": "r/app-0.tgz"}),
            Value::Null,
            paths(&["r/app-2.0.0.tgz"]),
        ),
    ] {
        assert_eq!(
            check(&server, more.clone(), version.clone()),
            expected,
            "{more} {version}"
        );
    }
}

#[test]
fn versions_of_one_file() {
    let server = S3Server::start();
    server.state.lock().unwrap().keeps_versions = true;
    let ids: Vec<String> = (0..5).map(|n| server.put("a/file", &[n])).collect();
    server.put("a/file2", b"other");
    let file = json!({"versioned_file": "a/file"});
    let id = |n: usize| json!({"version_id": ids[n]});
    assert_eq!(check(&server, file.clone(), Value::Null), json!([id(4)]));
    assert_eq!(
        check(&server, file.clone(), id(2)),
        json!([id(2), id(3), id(4)])
    );
    assert_eq!(
        check(&server, file.clone(), json!({"version_id": "gone"})),
        json!([id(4)])
    );
    let (folder, ran) = get(&server, file, json!({}), id(3));
    let answer = ran.ok();
    assert_eq!(answer["version"], id(3));
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), [3]);
    assert_eq!(read(&folder, "version"), ids[3]);
    assert!(read(&folder, "url").ends_with("/bucket/a/file?versionId=v%2B4"));
    let initial = json!({"versioned_file": "none", "initial_version": "0"});
    assert_eq!(
        check(&server, initial, Value::Null),
        json!([{"version_id": "0"}])
    );
}

#[test]
fn objects_are_fetched_with_what_belongs_to_them() {
    let server = S3Server::start();
    server.put("r/app 1.txt", b"hello");
    let regexp = json!({"regexp": "r/app (.*).txt"});
    let version = json!({"path": "r/app 1.txt"});
    let (folder, ran) = get(
        &server,
        regexp.clone(),
        json!({"download_tags": true}),
        version.clone(),
    );
    let answer = ran.ok();
    let url = format!("{}/bucket/r/app%201.txt", server.endpoint);
    assert_eq!(
        answer,
        json!({"version": version, "metadata": [
            {"name": "filename", "value": "app 1.txt"}, {"name": "url", "value": url},
        ]})
    );
    assert_eq!(read(&folder, "app 1.txt"), "hello");
    assert_eq!(
        (read(&folder, "version"), read(&folder, "url")),
        ("1".to_owned(), url)
    );
    assert_eq!(read(&folder, "s3_uri"), "s3://bucket/r/app 1.txt");
    assert_eq!(read(&folder, "tags.json"), r#"{"of":"r/app 1.txt"}"#);

    let private = json!({"regexp": "r/app (.*).txt", "private": true});
    let (folder, ran) = get(
        &server,
        private,
        json!({"skip_download": true}),
        version.clone(),
    );
    assert_eq!(ran.ok()["metadata"].as_array().unwrap().len(), 1);
    assert!(!folder.path().join("app 1.txt").exists());
    assert!(read(&folder, "url").contains("X-Amz-Signature="));

    // A connection that breaks is made again, but not for ever.
    server.state.lock().unwrap().cuts = 2;
    get(&server, regexp.clone(), json!({}), version.clone())
        .1
        .ok();
    server.state.lock().unwrap().cuts = 99;
    let (folder, ran) = get(&server, regexp.clone(), json!({}), version);
    ran.fails_with("ended its answer early");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    server.state.lock().unwrap().cuts = 0;
    let gone = json!({"path": "r/app 2.txt"});
    get(&server, regexp, json!({}), gone)
        .1
        .fails_with("there is no r/app 2.txt in bucket bucket");
}

#[test]
fn archives_are_unpacked_and_first_versions_made_up() {
    let server = S3Server::start();
    server.put("a-1.tgz", &gzip(&tarball(&[("dir/f", b"inside")])));
    let version = json!({"path": "a-1.tgz"});
    let regexp = json!({"regexp": "a-(.*).tgz"});
    let (folder, ran) = get(&server, regexp, json!({"unpack": true}), version);
    ran.ok();
    assert_eq!(read(&folder, "dir/f"), "inside");
    for (more, text) in [
        (json!({"initial_content_text": "text"}), "text"),
        (json!({"initial_content_binary": "dGV4dA=="}), "text"),
        (json!({}), ""),
    ] {
        let mut more = more;
        more["regexp"] = json!("n-(.*)");
        more["initial_path"] = json!("n-0");
        let (folder, ran) = get(
            &server,
            more,
            json!({"unpack": true}),
            json!({"path": "n-0"}),
        );
        ran.ok();
        assert_eq!(
            (
                read(&folder, "n-0").as_str(),
                read(&folder, "version").as_str()
            ),
            (text, "0")
        );
    }
}

#[test]
fn files_are_sent_with_what_is_said_of_them() {
    let server = S3Server::start();
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("app-1.2.tgz"), "bytes").unwrap();
    let put = |more: Value, params: Value| {
        S3.push(
            inputs.path(),
            json!({"source": source(&server, more), "params": params}),
        )
    };
    let params = json!({"file": "app-*.tgz", "acl": "public-read", "content_type": "a/b"});
    let more = json!({"regexp": "r/s/app-(.*).tgz", "server_side_encryption": "AES256"});
    let answer = put(more, params).ok();
    assert_eq!(answer["version"], json!({"path": "r/s/app-1.2.tgz"}));
    let object = server.get("r/s/app-1.2.tgz").unwrap();
    assert_eq!(object.bytes, b"bytes");
    for (name, value) in [
        ("x-amz-acl", "public-read"),
        ("Content-Type", "a/b"),
        ("x-amz-server-side-encryption", "AES256"),
    ] {
        assert!(
            object
                .headers
                .contains(&(name.to_owned(), value.to_owned())),
            "{name}"
        );
    }
    let file = json!({"versioned_file": "v"});
    put(file.clone(), json!({"file": "app-1.2.tgz"}))
        .fails_with("source.versioned_file needs a bucket that keeps versions");
    server.state.lock().unwrap().keeps_versions = true;
    let answer = put(file, json!({"file": "app-1.2.tgz"})).ok();
    assert_eq!(
        answer["version"],
        json!({"version_id": server.get("v").unwrap().version})
    );
}

#[test]
fn mistakes_are_named_by_their_key() {
    let server = S3Server::start();
    for (more, words) in [
        (json!({}), "source.regexp or source.versioned_file"),
        (
            json!({"regexp": "a-(.*)", "versioned_file": "x"}),
            "source.regexp and",
        ),
        (json!({"regexp": "a-("}), "source.regexp must be"),
        (json!({"regexp": "a"}), "source.regexp has no group"),
        (json!({"regexp": "(.*)", "bucket": ""}), "source.bucket"),
        (
            json!({"regexp": "(.*)", "bucket": "other"}),
            "there is no bucket other",
        ),
        (
            json!({"regexp": "(.*)", "secret_access_key": "wrong"}),
            "denies access to bucket",
        ),
        (
            json!({"regexp": "(.*)", "secret_access_key": null}),
            "source.access_key_id and",
        ),
        (
            json!({"regexp": "(.*)", "region_name": "a/b"}),
            "source.region_name",
        ),
        (
            json!({"regexp": "(.*)", "endpoint": "ftp://x"}),
            "source.endpoint",
        ),
        (
            json!({"regexp": "(.*)", "initial_version": "1"}),
            "source.initial_version",
        ),
        (
            json!({"regexp": "(.*)", "initial_content_text": "1"}),
            "source.initial_content_text",
        ),
        (
            json!({"versioned_file": "x", "initial_path": "1"}),
            "source.initial_path",
        ),
        (
            json!({"versioned_file": "x", "ca_bundle": "1"}),
            "source.ca_bundle",
        ),
        (
            json!({"versioned_file": "x", "cloudfront_url": "1"}),
            "source.cloudfront_url",
        ),
        (
            json!({"versioned_file": "x", "private": "perhaps"}),
            "source.private",
        ),
    ] {
        S3.check(json!({"source": source(&server, more)}))
            .fails_with(words);
    }
    let regexp = json!({"regexp": "a-(.*)"});
    get(&server, regexp.clone(), json!({}), json!({"path": "b-1"}))
        .1
        .fails_with("source.regexp does not match");
    get(
        &server,
        regexp.clone(),
        json!({}),
        json!({"version_id": "1"}),
    )
    .1
    .fails_with("`path`");
    let inputs = tempdir().unwrap();
    for (params, words) in [
        (json!({}), "params.file is missing"),
        (json!({"file": "none"}), "params.file is \"none\""),
    ] {
        let request = json!({"source": source(&server, regexp.clone()), "params": params});
        S3.push(inputs.path(), request).fails_with(words);
    }
}
