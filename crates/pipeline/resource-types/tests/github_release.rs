//! `github-release` against a small GitHub on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, path::Path};

use common::{
    Ran, Type,
    github_server::{GithubServer, TOKEN},
    http::Response,
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const RELEASE: Type = Type("github-release");

fn get(source: Value, version: Value, params: Value) -> (TempDir, Ran) {
    let folder = tempdir().unwrap();
    let request = json!({"source": source, "version": version, "params": params});
    let ran = RELEASE.fetch(folder.path(), request);
    if ran.status != 0 {
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    (folder, ran)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn releases_of_all_pages_are_found() {
    let server = GithubServer::start();
    for (minute, tag) in ["v1.0.0", "v1.10.0", "v1.2.0", "odd/tag", "v1.3.0"]
        .iter()
        .enumerate()
    {
        server.release(tag, minute as u32);
    }
    let check = |version: Value| {
        let found = RELEASE
            .check(json!({"source": server.source(), "version": version}))
            .ok();
        let found = found.as_array().unwrap().clone();
        found
            .iter()
            .map(|version| version["tag"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(check(Value::Null), ["v1.10.0"]);
    assert_eq!(
        check(json!({"tag": "v1.2.0"})),
        ["v1.2.0", "v1.3.0", "v1.10.0"]
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 6, "{asked:?}");
    let all = RELEASE
        .check(json!({"source": server.source(), "version": null}))
        .ok();
    let expected = json!([{"id": "102", "tag": "v1.10.0", "timestamp": "2026-01-02T03:01:00Z"}]);
    assert_eq!(all, expected);
}

#[test]
fn a_release_is_fetched_and_the_store_sees_no_token() {
    let server = GithubServer::start();
    server.state.lock().unwrap().needs_token = true;
    let id = server.release("v1.0.0", 0);
    for name in ["fly-linux.tgz", "fly-darwin.tgz", "notes.txt"] {
        server.asset(id, name, name.as_bytes());
    }
    server.state.lock().unwrap().assets[2].1["state"] = json!("new");
    let tag = ("v1.0.0", json!({"type": "tag", "sha": "a-tag"}));
    let chain = [
        tag,
        ("a-tag", json!({"type": "commit", "sha": "the-commit"})),
    ];
    server.state.lock().unwrap().tags = chain
        .map(|(name, object)| (name.to_owned(), object))
        .to_vec();
    let mut source = server.source();
    source["access_token"] = json!(TOKEN);
    let version =
        json!({"id": id.to_string(), "tag": "v1.0.0", "timestamp": "2026-01-02T03:00:00Z"});
    let (folder, ran) = get(
        source.clone(),
        version.clone(),
        json!({"include_source_tarball": true}),
    );
    let answer = ran.ok();
    assert_eq!(answer["version"], version);
    let metadata = answer["metadata"].as_array().unwrap();
    let fields: Vec<_> = metadata
        .iter()
        .map(|field| field["name"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["name", "url", "body", "tag", "commit_sha"]);
    for (name, text) in [
        ("tag", "v1.0.0"),
        ("version", "1.0.0"),
        ("body", "What is new"),
        ("commit_sha", "the-commit"),
        ("url", "https://github.example/o/r/releases/101"),
        ("id", "101"),
        ("timestamp", "2026-01-02T03:00:00Z"),
        ("fly-linux.tgz", "fly-linux.tgz"),
        ("source.tar.gz", "sources as tarball"),
    ] {
        assert_eq!(read(&folder, name), text, "{name}");
    }
    assert!(!folder.path().join("notes.txt").exists());
    let asked = server.asked();
    let tokens = asked
        .iter()
        .filter(|line| line.starts_with("store"))
        .map(|line| line.ends_with("no token"));
    assert_eq!(tokens.collect::<Vec<_>>(), [true; 3], "{asked:?}");
    assert!(
        asked
            .iter()
            .any(|line| line.starts_with("github") && line.ends_with(TOKEN))
    );

    source["asset_dir"] = json!(true);
    let (folder, ran) = get(
        source,
        json!({"tag": "v1.0.0"}),
        json!({"globs": ["*-darwin.*"]}),
    );
    assert_eq!(ran.ok()["version"], version);
    assert_eq!(names(&folder.path().join("assets")), ["fly-darwin.tgz"]);
}

#[test]
fn assets_that_are_odd_or_damaged_are_refused() {
    let server = GithubServer::start();
    let id = server.release("v1.0.0", 0);
    let version = json!({"id": id.to_string()});
    server.asset(id, "../../evil", b"evil");
    let mut source = server.source();
    source["asset_dir"] = json!(true);
    get(source.clone(), version.clone(), json!({}))
        .1
        .fails_with("has a name that no file may have");
    get(source.clone(), version.clone(), json!({"globs": ["*.tgz"]}))
        .1
        .ok();
    for (key, value) in [
        ("size", json!(3)),
        ("size", json!(9)),
        ("digest", json!("sha256:00")),
    ] {
        server.state.lock().unwrap().assets.clear();
        server.asset(id, "good", b"bytes");
        get(source.clone(), version.clone(), json!({})).1.ok();
        server.state.lock().unwrap().assets[0].1[key] = value;
        let (_folder, ran) = get(source.clone(), version.clone(), json!({}));
        assert_eq!(ran.status, 1, "{key}");
    }
    get(source, json!({"id": "7", "tag": "none"}), json!({}))
        .1
        .fails_with("there is no release");
}

#[test]
fn a_release_is_made_and_changed() {
    let server = GithubServer::start();
    let inputs = tempdir().unwrap();
    for (name, text) in [
        ("name", "A name\n"),
        ("tag", "1.0.0\n"),
        ("body", "Notes\n"),
        ("commit", "main\n"),
        ("out/a-1.tgz", "first"),
        ("out/b-1.tgz", "second"),
    ] {
        let path = inputs.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut source = server.source();
    source["access_token"] = json!(TOKEN);
    let put = |source: &Value, params: Value| {
        RELEASE.push(inputs.path(), json!({"source": source, "params": params}))
    };
    let answer = put(
        &source,
        json!({
            "name": "name", "tag": "tag", "tag_prefix": "v", "body": "body", "commitish": "commit",
            "globs": ["out/*.tgz"], "generate_release_notes": true,
        }),
    )
    .ok();
    assert_eq!(answer["version"]["tag"], "v1.0.0");
    let made = server.state.lock().unwrap().releases[0].clone();
    for (key, value) in [
        ("name", json!("A name")),
        ("body", json!("Notes")),
        ("target_commitish", json!("main")),
        ("generate_release_notes", json!(true)),
        ("draft", json!(false)),
        ("prerelease", json!(false)),
    ] {
        assert_eq!(made[key], value, "{key}");
    }
    let assets = || {
        let state = server.state.lock().unwrap();
        let names = state.assets.iter().map(|(_, about, bytes)| {
            (
                about["name"].as_str().unwrap().to_owned(),
                String::from_utf8(bytes.clone()).unwrap(),
            )
        });
        names.collect::<Vec<_>>()
    };
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        assets(),
        [pair("a-1.tgz", "first"), pair("b-1.tgz", "second")]
    );

    source["pre_release"] = json!(true);
    source["release"] = json!(false);
    let again = put(
        &source,
        json!({"name": "body", "tag": "tag", "tag_prefix": "v", "globs": ["out/b*"]}),
    )
    .ok();
    assert_eq!(again["version"]["id"], answer["version"]["id"]);
    let changed = server.state.lock().unwrap().releases[0].clone();
    let texts = ["name", "body", "prerelease"].map(|key| changed[key].clone());
    assert_eq!(texts, [json!("Notes"), json!("Notes"), json!(true)]);
    assert_eq!(assets(), [pair("b-1.tgz", "second")]);

    put(&source, json!({"tag": "tag"})).fails_with("params.name is missing");
    put(&source, json!({"name": "name"})).fails_with("params.tag is missing");
    put(&source, json!({"name": "name", "tag": "none"})).fails_with("params.tag is \"none\"");
    put(&source, json!({"name": "name", "tag": "../tag"})).fails_with("leads out of its folder");
    let nothing = json!({"name": "name", "tag": "tag", "globs": ["none*"]});
    put(&source, nothing).fails_with("params.globs has \"none*\"");
    assert_eq!(server.state.lock().unwrap().releases.len(), 1);
}

#[test]
fn a_broken_upload_is_done_again() {
    let server = GithubServer::start();
    let id = server.release("v1", 0);
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("tag"), "v1").unwrap();
    fs::write(inputs.path().join("file"), "bytes").unwrap();
    let mut source = server.source();
    source["access_token"] = json!(TOKEN);
    let put = || {
        let params = json!({"name": "tag", "tag": "tag", "globs": ["file", "fil?"]});
        RELEASE.push(inputs.path(), json!({"source": source, "params": params}))
    };
    server.state.lock().unwrap().broken_uploads = 2;
    let ran = put();
    assert_eq!(ran.log.matches("trying again").count(), 2, "{}", ran.log);
    ran.ok();
    let asset = server.state.lock().unwrap().assets[0].clone();
    assert_eq!((asset.0, asset.2), (id, b"bytes".to_vec()));
    server.state.lock().unwrap().broken_uploads = 20;
    let ran = put();
    assert_eq!(ran.log.matches("trying again").count(), 9, "{}", ran.log);
    ran.fails_with("is answered with 502");
}

#[test]
fn refusals_say_what_to_do() {
    let server = GithubServer::start();
    server.release("v1", 0);
    let check = |source: Value| RELEASE.check(json!({"source": source}));
    let limited = || {
        Response::new(403, "{}")
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", "4102444800")
    };
    let later = || Response::new(429, "{}").with("Retry-After", "900");
    for (refusal, words) in [
        (
            limited(),
            "rate limit allows no requests until 2100-01-01T00:00:00Z: requests without source.access_token",
        ),
        (later(), "rate limit allows no requests for 900 seconds"),
        (
            Response::new(404, "{}"),
            "GitHub refuses o/r: does the repository have this",
        ),
        (
            Response::new(403, "{}"),
            "GitHub refuses o/r: does it need a source.access_token?",
        ),
        (
            Response::new(200, "<html>"),
            "GitHub's answer cannot be read",
        ),
    ] {
        server.state.lock().unwrap().refusals.push(refusal);
        check(server.source()).fails_with(words);
    }
    let with = |key: &str, value: Value| {
        let mut source = server.source();
        source[key] = value;
        source
    };
    let wrong = check(with("access_token", json!("another")));
    assert!(!wrong.log.contains("another"), "{}", wrong.log);
    wrong.fails_with("is source.access_token right?");
    for (key, value, words) in [
        ("owner", json!(null), "source.owner is missing"),
        ("owner", json!("../x"), "source.owner is \"../x\""),
        ("repository", json!(".."), "source.repository is \"..\""),
        ("tag_filter", json!("("), "source.tag_filter is \"(\""),
        ("order_by", json!("name"), "source.order_by is \"name\""),
        (
            "semver_constraint",
            json!("newest"),
            "source.semver_constraint is",
        ),
        (
            "github_api_url",
            json!("ftp://x"),
            "source.github_api_url is not valid",
        ),
        (
            "github_api_url",
            json!("http://x/?a=b"),
            "source.github_api_url is not valid",
        ),
    ] {
        check(with(key, value)).fails_with(words);
    }
    let ran = check(with("depth", json!(1)));
    assert!(ran.log.contains("warning: source.depth"), "{}", ran.log);
    ran.ok();
}
