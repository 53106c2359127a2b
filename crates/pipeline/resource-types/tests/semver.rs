//! `semver` in a real git repository and in a bucket.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, thread};

use common::{
    Ran, Type,
    gcs_server::GcsServer,
    http::Response,
    repository::{Repository, git},
    s3_server::{ID, S3Server, SECRET},
};
use serde_json::{Value, json};
use tempfile::tempdir;

const SEMVER: Type = Type("semver");

fn in_git(repository: &Repository) -> Value {
    json!({"driver": "git", "uri": repository.uri(), "branch": "master", "file": "ci/version"})
}

fn in_s3(server: &S3Server) -> Value {
    json!({
        "bucket": "bucket", "key": "a/version", "endpoint": server.endpoint,
        "access_key_id": ID, "secret_access_key": SECRET,
    })
}

fn check(source: &Value) -> Value {
    SEMVER.check(json!({"source": source})).ok()
}

fn put(source: &Value, params: Value) -> Ran {
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("new"), "3.2.1\n").unwrap();
    fs::write(inputs.path().join("odd"), "newest").unwrap();
    SEMVER.push(inputs.path(), json!({"source": source, "params": params}))
}

/// The life of a number with either driver.
fn lives(mut source: Value) {
    let number = |text: &str| json!({"number": text});
    assert_eq!(check(&source), json!([number("0.0.0")]));
    source["initial_version"] = json!("1.2.3");
    assert_eq!(check(&source), json!([number("1.2.3")]));
    for (params, expected) in [
        (json!({"bump": "minor", "pre": "rc"}), "1.3.0-rc.1"),
        (json!({"pre": "rc"}), "1.3.0-rc.2"),
        (json!({"bump": "final"}), "1.3.0"),
        (json!({"bump": "major"}), "2.0.0"),
        (
            json!({"bump": "patch", "pre": "SNAPSHOT", "pre_without_version": true}),
            "2.0.1-SNAPSHOT",
        ),
        (json!({"file": "new"}), "3.2.1"),
        (json!({"file": "new"}), "3.2.1"),
        (json!({"get_latest": true}), "3.2.1"),
    ] {
        let answer = put(&source, params.clone()).ok();
        assert_eq!(answer["version"], number(expected), "{params}");
        assert_eq!(
            answer["metadata"],
            json!([{"name": "number", "value": expected}])
        );
        assert_eq!(check(&source), json!([number(expected)]), "{params}");
    }
    let from = json!({"source": source, "version": number("1.0.0")});
    assert_eq!(
        SEMVER.check(from).ok(),
        json!([number("1.0.0"), number("3.2.1")])
    );
    let ahead = json!({"source": source, "version": number("9.0.0")});
    assert_eq!(SEMVER.check(ahead).ok(), json!([number("3.2.1")]));
    put(&source, json!({})).fails_with("params.file or params.bump");
    put(&source, json!({"file": "none"})).fails_with("params.file is \"none\"");
    put(&source, json!({"file": "odd"})).fails_with("params.file is a file with \"newest\"");
    put(&source, json!({"bump": "huge"})).fails_with("huge");
    put(&source, json!({"pre": "a.b"})).fails_with("pre may have");
    let ran = put(&source, json!({"bogus": 1, "bump": "huge"}));
    assert!(ran.log.contains("warning: params.bogus"), "{}", ran.log);
}

#[test]
fn a_number_lives_in_git() {
    let repository = Repository::new();
    repository.commit("a", "first");
    lives(in_git(&repository));
    let log = git(&repository.bare(), &["log", "--format=%an %s", "master"]);
    assert!(log.starts_with("git bump to 3.2.1\n"), "{log}");
    assert_eq!(
        git(&repository.bare(), &["show", "master:ci/version"]),
        "3.2.1"
    );
}

#[test]
fn a_number_lives_in_a_bucket() {
    let server = S3Server::start();
    lives(in_s3(&server));
    assert_eq!(server.get("a/version").unwrap().bytes, b"3.2.1");
}

#[test]
fn commits_say_who_and_why() {
    let repository = Repository::new();
    repository.commit("a", "first");
    let mut source = in_git(&repository);
    source["git_user"] = json!("A Robot <robot@example.com>");
    source["commit_message"] = json!("%file% is %version% [ci skip]");
    put(&source, json!({"bump": "patch"})).ok();
    let log = git(
        &repository.bare(),
        &["log", "-1", "--format=%an %ae %s", "master"],
    );
    assert_eq!(
        log,
        "A Robot robot@example.com ci/version is 0.0.1 [ci skip]"
    );
}

#[test]
fn many_bumps_at_once_all_count() {
    let repository = Repository::new();
    repository.commit("a", "first");
    let source = in_git(&repository);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| put(&source, json!({"bump": "patch"})).ok());
        }
    });
    assert_eq!(check(&source), json!([{"number": "0.0.3"}]));
}

#[test]
fn a_get_writes_the_number_or_the_next() {
    let source = json!({"bucket": "b", "key": "k"});
    for (params, expected) in [(json!({}), "1.2.3"), (json!({"bump": "minor"}), "1.3.0")] {
        let folder = tempdir().unwrap();
        let version = json!({"number": "1.2.3"});
        let request = json!({"source": source, "params": params, "version": version});
        let answer = SEMVER.fetch(folder.path(), request).ok();
        assert_eq!(answer["version"], version);
        for name in ["number", "version"] {
            assert_eq!(
                fs::read_to_string(folder.path().join(name)).unwrap(),
                expected
            );
        }
    }
    let folder = tempdir().unwrap();
    for (params, number, words) in [
        (json!({"file": "x"}), "1.2.3", "are for puts"),
        (json!({}), "v1", "is not a version"),
    ] {
        let request = json!({"source": source, "params": params, "version": {"number": number}});
        SEMVER.fetch(folder.path(), request).fails_with(words);
    }
}

#[test]
fn mistakes_are_named_by_their_key() {
    let repository = Repository::new();
    repository.commit("ci/version", "not a number");
    for (source, words) in [
        (json!({}), "source.bucket is missing"),
        (json!({"bucket": "b"}), "source.key is missing"),
        (json!({"driver": "swift"}), "source.driver is \"swift\""),
        (json!({"driver": "git"}), "source.uri is missing"),
        (
            json!({"driver": "git", "uri": repository.uri(), "branch": "b"}),
            "source.file is missing",
        ),
        (
            json!({"driver": "git", "uri": repository.uri(), "branch": "-b", "file": "f"}),
            "source.branch",
        ),
        (
            json!({"driver": "git", "uri": repository.uri(), "branch": "b", "file": "../f"}),
            "leads out of its folder",
        ),
        (
            json!({"driver": "git", "uri": repository.uri(), "branch": "b", "file": "f", "git_user": "x"}),
            "source.git_user",
        ),
        (
            json!({"bucket": "b", "key": "k", "initial_version": "new"}),
            "source.initial_version",
        ),
        (json!({"bogus": 1}), "source.bucket is missing"),
        (in_git(&repository), "which is not a version"),
    ] {
        SEMVER.check(json!({"source": source})).fails_with(words);
    }
}

fn in_gcs(server: &GcsServer) -> Value {
    json!({
        "driver": "gcs", "bucket": "bucket", "key": "a b/version", "endpoint": server.url,
        "json_key": server.json_key(),
    })
}

#[test]
fn a_number_lives_in_googles_cloud() {
    let server = GcsServer::start();
    lives(in_gcs(&server));
    let object = server.state.lock().unwrap().object.clone().unwrap();
    assert_eq!(object.bytes, b"3.2.1");
    assert_eq!(object.cache_control, "private");
    let mut with_token = in_gcs(&server);
    with_token["json_key"] = Value::Null;
    with_token["token"] = json!(server.token());
    assert_eq!(check(&with_token), json!([{"number": "3.2.1"}]));
    // A key whose JSON became a map.
    let mut with_map = in_gcs(&server);
    with_map["json_key"] = serde_json::from_str(&server.json_key()).unwrap();
    assert_eq!(check(&with_map), json!([{"number": "3.2.1"}]));
}

#[test]
fn bumps_at_once_in_googles_cloud_are_all_kept() {
    const BUMPS: usize = 6;
    let server = GcsServer::start();
    let source = in_gcs(&server);
    let mut numbers: Vec<String> = thread::scope(|scope| {
        let bump = || put(&source, json!({"bump": "patch"})).ok();
        let bumps: Vec<_> = (0..BUMPS).map(|_| scope.spawn(bump)).collect();
        let answers = bumps.into_iter().map(|bump| bump.join().unwrap());
        answers
            .map(|answer| answer["version"]["number"].to_string())
            .collect()
    });
    numbers.sort();
    let expected: Vec<String> = (1..=BUMPS)
        .map(|patch| format!("\"0.0.{patch}\""))
        .collect();
    assert_eq!(numbers, expected);
    assert_eq!(check(&source), json!([{"number": format!("0.0.{BUMPS}")}]));
}

#[test]
fn faults_of_googles_cloud_are_told_without_the_key() {
    let server = GcsServer::start();
    let good = in_gcs(&server);
    let key = |name: &str, value: Value| {
        let mut key: Value = serde_json::from_str(&server.json_key()).unwrap();
        key[name] = value;
        json!(key.to_string())
    };
    for (name, value, words) in [
        (
            "json_key",
            Value::Null,
            "source.json_key or source.token is missing",
        ),
        (
            "token",
            json!("t"),
            "source.json_key and source.token exclude each other",
        ),
        (
            "json_key",
            json!("SECRET"),
            "source.json_key is not the JSON of a service account",
        ),
        (
            "json_key",
            json!(["SECRET"]),
            "it is neither a text nor a map",
        ),
        (
            "json_key",
            key("private_key", json!("SECRET")),
            "a private_key that cannot be read",
        ),
        (
            "json_key",
            key("private_key", server.another_key()),
            "invalid_grant",
        ),
        (
            "json_key",
            key("token_uri", json!("ftp://x")),
            "a token_uri that is not valid",
        ),
        (
            "bucket",
            json!("../x"),
            "source.bucket is not a name of a bucket",
        ),
        (
            "bucket",
            json!("another"),
            "source.bucket is not an existing bucket",
        ),
        ("bucket", Value::Null, "source.bucket is missing"),
        ("key", Value::Null, "source.key is missing"),
    ] {
        let mut source = good.clone();
        source[name] = value;
        let ran = SEMVER.check(json!({"source": source}));
        assert!(!ran.log.contains("SECRET"), "{}", ran.log);
        ran.fails_with(words);
    }
    for (refusal, words) in [
        (
            Response::new(403, "no"),
            "may the account read and write it?",
        ),
        (
            Response::new(200, "1.0.0"),
            "does not return the generation",
        ),
        (
            Response::new(200, "newest").with("x-goog-generation", "1"),
            "has \"newest\" in it",
        ),
    ] {
        server.state.lock().unwrap().refusals.push(refusal);
        SEMVER.check(json!({"source": good})).fails_with(words);
    }
    let mut unknown = good;
    unknown["driver"] = json!("swift");
    SEMVER
        .check(json!({"source": unknown}))
        .fails_with("the native type has git, s3 and gcs");
}
