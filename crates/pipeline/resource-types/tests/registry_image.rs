//! `registry-image` against a real registry.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, path::Path};

use common::{
    Type,
    image::{digest, layout, saved},
    registry::Registry,
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const IMAGE: Type = Type("registry-image");

/// Pushes an image whose file says `text`, and returns the version.
fn put(source: &Value, params: Value, text: &str) -> Value {
    let inputs = tempdir().unwrap();
    fs::create_dir(inputs.path().join("image")).unwrap();
    layout(&inputs.path().join("image"), text, &["amd64", "arm64"]);
    put_from(inputs.path(), source, params)["version"].clone()
}

fn put_from(inputs: &Path, source: &Value, mut params: Value) -> Value {
    if params.get("image").is_none() {
        params["image"] = json!("image");
    }
    IMAGE
        .push(inputs, json!({"source": source, "params": params}))
        .ok()
}

fn check(source: &Value, version: Value) -> Vec<Value> {
    let answer = IMAGE
        .check(json!({"source": source, "version": version}))
        .ok();
    answer.as_array().unwrap().clone()
}

fn tags(versions: &[Value]) -> Vec<&str> {
    versions
        .iter()
        .map(|version| version["tag"].as_str().unwrap())
        .collect()
}

fn get(source: &Value, params: Value, version: &Value) -> (TempDir, Value) {
    let folder = tempdir().unwrap();
    let request = json!({"source": source, "params": params, "version": version});
    let answer = IMAGE.fetch(folder.path(), request).ok();
    (folder, answer)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn what_is_pushed_is_found_and_fetched() {
    let registry = Registry::start();
    let source = json!({"repository": registry.repository("a/b"), "tag": "t"});
    let first = put(&source, json!({}), "one");
    assert_eq!(json!(check(&source, Value::Null)), json!([first]));
    let second = put(&source, json!({}), "two");
    assert_eq!(
        check(&source, first.clone()),
        [first.clone(), second.clone()]
    );
    assert_eq!(json!(check(&source, second.clone())), json!([second]));
    assert_eq!(
        check(
            &json!({"repository": registry.repository("a/b"), "tag": "none"}),
            Value::Null
        ),
        [] as [Value; 0]
    );

    let (folder, answer) = get(&source, json!({}), &first);
    assert_eq!(answer["version"], first);
    assert_eq!(
        answer["metadata"],
        json!([
            {"name": "repository", "value": registry.repository("a/b")}, {"name": "tag", "value": "t"},
        ])
    );
    assert_eq!(read(&folder, "rootfs/a/kept"), "one");
    assert!(!folder.path().join("rootfs/a/gone").exists());
    assert_eq!(read(&folder, "rootfs/b"), "amd64");
    assert_eq!(
        (read(&folder, "tag"), read(&folder, "digest")),
        ("t".to_owned(), first["digest"].as_str().unwrap().to_owned())
    );
    assert_eq!(read(&folder, "repository"), registry.repository("a/b"));
    let metadata: Value = serde_json::from_str(&read(&folder, "metadata.json")).unwrap();
    assert_eq!(
        metadata,
        json!({"env": ["PATH=/bin"], "user": "1000", "cmd": ["y"], "entrypoint": ["/bin/x"]})
    );
    assert!(read(&folder, "labels.json").contains("labelled"));
}

#[test]
fn platforms_labels_and_no_download() {
    let registry = Registry::start();
    let repository = registry.repository("a");
    let source = json!({"repository": repository, "tag": "t"});
    let version = put(&source, json!({}), "x");
    let arm = json!({"repository": repository, "platform": {"architecture": "arm64"}});
    let (folder, _) = get(&arm, json!({}), &version);
    assert_eq!(read(&folder, "rootfs/b"), "arm64");
    let (folder, _) = get(
        &source,
        json!({"platform": {"architecture": "arm64", "os": "linux"}}),
        &version,
    );
    assert_eq!(read(&folder, "rootfs/b"), "arm64");
    let labelled =
        json!({"repository": repository, "label_regex": "^org", "annotation_regex": "note"});
    let (folder, answer) = get(&labelled, json!({"skip_download": true}), &version);
    assert!(!folder.path().join("rootfs").exists());
    assert_eq!(
        answer["metadata"][2],
        json!({"name": "org.name", "value": "labelled"})
    );
    assert_eq!(
        answer["metadata"][3],
        json!({"name": "org.note", "value": "annotated"})
    );
    let (folder, _) = get(&source, json!({"format": "description"}), &version);
    assert!(!folder.path().join("rootfs").exists());
    let described: Value = serde_json::from_str(&read(&folder, "metadata.json")).unwrap();
    assert!(described["env"].is_array() || described["env"].is_null());
    assert_eq!(read(&folder, "digest"), version["digest"].as_str().unwrap());
    let odd = json!({"repository": repository, "platform": {"architecture": "odd"}});
    let request = json!({"source": odd, "version": version});
    IMAGE
        .fetch(tempdir().unwrap().path(), request)
        .fails_with("has no image for linux/odd");
}

#[test]
fn tarballs_and_layouts_come_out_as_they_went_in() {
    let registry = Registry::start();
    let source = json!({"repository": registry.repository("a"), "tag": "t"});
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("image-1.tar"), saved("from docker")).unwrap();
    let answer = put_from(inputs.path(), &source, json!({"image": "image-*.tar"}));
    let version = &answer["version"];
    let (folder, _) = get(&source, json!({}), version);
    assert_eq!(read(&folder, "rootfs/saved"), "from docker");

    // Fetched as a tarball and pushed again it is the same image.
    let (folder, _) = get(&source, json!({"format": "oci"}), version);
    let again = put_from(folder.path(), &source, json!({"image": "image.tar"}));
    assert_eq!(again["version"], *version);

    // And so is a layout, of one image or of an index.
    let index = put(&source, json!({}), "many");
    for version in [version, &index] {
        let (folder, _) = get(&source, json!({"format": "oci-layout"}), version);
        let again = put_from(folder.path(), &source, json!({"image": "oci"}));
        assert_eq!(again["version"], *version);
    }
}

#[test]
fn versions_are_sorted_filtered_and_counted_from() {
    let registry = Registry::start();
    let source = json!({"repository": registry.repository("a")});
    let push = |version: &str, text: &str| put(&source, json!({"version": version}), text);
    let find = |more: Value, from: Value| {
        let mut source = more;
        source["repository"] = json!(registry.repository("a"));
        check(&source, from)
    };
    push("1.10.0", "110");
    let old = push("1.2.0", "12");
    push("1.2.1-rc.1", "rc");
    push("2.0.0", "2");
    put(
        &json!({"repository": registry.repository("a"), "tag": "1.2"}),
        json!({}),
        "12",
    );
    put(
        &json!({"repository": registry.repository("a"), "tag": "latest"}),
        json!({}),
        "newest",
    );
    put(
        &json!({"repository": registry.repository("a"), "tag": "odd"}),
        json!({}),
        "odd",
    );
    put(
        &json!({"repository": registry.repository("a"), "tag": "1.3.0-alpine"}),
        json!({}),
        "alpine",
    );

    assert_eq!(
        tags(&find(json!({}), Value::Null)),
        ["1.2.0", "1.10.0", "2.0.0", "latest"]
    );
    assert_eq!(
        tags(&find(json!({}), old)),
        ["1.2.0", "1.10.0", "2.0.0", "latest"]
    );
    let stale = json!({"tag": "1.10.0", "digest": digest(b"other")});
    assert_eq!(
        tags(&find(json!({}), stale)),
        ["1.2.0", "1.10.0", "2.0.0", "latest"]
    );
    assert_eq!(
        tags(&find(json!({"semver_constraint": "^1"}), Value::Null)),
        ["1.2.0", "1.10.0"]
    );
    assert_eq!(
        tags(&find(json!({"pre_releases": true}), Value::Null)),
        ["1.2.0", "1.2.1-rc.1", "1.10.0", "2.0.0", "latest"]
    );
    assert_eq!(
        tags(&find(json!({"variant": "alpine"}), Value::Null)),
        ["1.3.0-alpine"]
    );
    let matching = find(json!({"tag_regex": "^1\\.2"}), Value::Null);
    let mut found = tags(&matching);
    found.sort_unstable();
    assert_eq!(found, ["1.2", "1.2.0", "1.2.1-rc.1"]);
    assert_eq!(
        find(
            json!({"tag_regex": "^1\\.2", "created_at_sort": true}),
            Value::Null
        )
        .len(),
        3
    );
}

#[test]
fn aliases_follow_the_newest_of_their_series() {
    let registry = Registry::start();
    let source = json!({"repository": registry.repository("a")});
    let push = |version: &str| {
        let inputs = tempdir().unwrap();
        fs::create_dir(inputs.path().join("image")).unwrap();
        layout(&inputs.path().join("image"), version, &["amd64"]);
        fs::write(inputs.path().join("more"), "x\ny").unwrap();
        let params = json!({"version": version, "bump_aliases": true, "additional_tags": "more", "tag_prefix": "p-"});
        let answer = put_from(inputs.path(), &source, params);
        answer["metadata"][1]["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(push("1.2.3"), "1.2.3 latest 1 1.2 p-x p-y");
    assert_eq!(push("2.0.0"), "2.0.0 latest 2 2.0 p-x p-y");
    assert_eq!(push("1.3.0"), "1.3.0 1 1.3 p-x p-y");
    assert_eq!(push("1.2.4"), "1.2.4 1.2 p-x p-y");
    assert_eq!(push("3.0.0-rc.1"), "3.0.0-rc.1 p-x p-y");
}

#[test]
fn users_are_asked_for() {
    let registry = Registry::with_user(Some(("me", "s3cret")));
    let repository = registry.repository("a");
    let source =
        json!({"repository": repository, "tag": "t", "username": "me", "password": "s3cret"});
    let version = put(&source, json!({}), "x");
    assert_eq!(json!(check(&source, Value::Null)), json!([version]));
    get(&source, json!({}), &version);
    for source in [
        json!({"repository": repository, "tag": "t"}),
        json!({"repository": repository, "tag": "t", "username": "me", "password": "wrong"}),
    ] {
        IMAGE
            .check(json!({"source": source}))
            .fails_with("check username and password");
    }
}

#[test]
fn mistakes_are_named_by_their_key() {
    let registry = Registry::start();
    let repository = registry.repository("a");
    for (source, words) in [
        (json!({}), "source.repository is missing"),
        (json!({"repository": "a:b"}), "source.repository"),
        (
            json!({"repository": repository, "tag": "a/b"}),
            "source.tag",
        ),
        (
            json!({"repository": repository, "semver_constraint": "new"}),
            "source.semver_constraint",
        ),
        (
            json!({"repository": repository, "tag_regex": "("}),
            "source.tag_regex",
        ),
        (
            json!({"repository": repository, "ca_certs": ["x"]}),
            "source.ca_certs",
        ),
        (
            json!({"repository": repository, "content_trust": {}}),
            "source.content_trust",
        ),
        (json!({"repository": repository, "bogus": 1}), "bogus"),
        (
            json!({"repository": repository, "aws_region": "a.b/"}),
            "source.aws_region",
        ),
        (
            json!({"repository": repository, "aws_role_arn": "a", "aws_role_arns": ["b"]}),
            "source.aws_role_arn and",
        ),
        (
            json!({"repository": "a", "registry_mirror": {}}),
            "source.registry_mirror.host",
        ),
        (
            json!({"repository": "127.0.0.1:1/a"}),
            "cannot reach 127.0.0.1:1",
        ),
    ] {
        IMAGE.check(json!({"source": source})).fails_with(words);
    }
    let inputs = tempdir().unwrap();
    fs::write(inputs.path().join("text"), "no tarball").unwrap();
    fs::create_dir(inputs.path().join("empty")).unwrap();
    layout(inputs.path(), "x", &["amd64"]);
    for (source, params, words) in [
        (json!({"tag": "t"}), json!({}), "params.image is missing"),
        (
            json!({"tag": "t"}),
            json!({"image": "none*"}),
            "params.image is \"none*\"",
        ),
        (
            json!({"tag": "t"}),
            json!({"image": "text"}),
            "is not an image in a tarball",
        ),
        (json!({"tag": "t"}), json!({"image": "empty"}), "index.json"),
        (
            json!({}),
            json!({"image": "."}),
            "source.tag or params.version",
        ),
        (
            json!({}),
            json!({"image": ".", "version": "new"}),
            "params.version",
        ),
        (
            json!({"tag": "t"}),
            json!({"image": ".", "tag_prefix": "x"}),
            "params.tag_prefix",
        ),
        (
            json!({"tag": "t"}),
            json!({"image": ".", "additional_tags": "none"}),
            "params.additional_tags",
        ),
        (json!({"tag": "t"}), json!({"bogus": 1}), "bogus"),
    ] {
        let mut source = source;
        source["repository"] = json!(repository);
        IMAGE
            .push(inputs.path(), json!({"source": source, "params": params}))
            .fails_with(words);
    }
    let version = json!({"tag": "t", "digest": digest(b"none")});
    let request = json!({"source": {"repository": repository}, "version": version});
    let folder = tempdir().unwrap();
    IMAGE
        .fetch(folder.path(), request)
        .fails_with("has no image sha256:");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let request = json!({"source": {"repository": repository}, "version": {"tag": "t"}});
    IMAGE.fetch(folder.path(), request).fails_with("`digest`");
}

#[test]
fn the_documents_of_an_image_name_its_user_and_must_be_its_own() {
    let registry = Registry::start();
    let source = json!({"repository": registry.repository("a"), "tag": "t"});
    let version = put(&source, json!({}), "x");
    let digest = version["digest"].as_str().unwrap();
    let served = |source: &Value, reference: &str| {
        let source = source.as_object().unwrap().clone();
        airside_resource_types::served_image(source, reference, &mut std::io::sink())
    };
    // By digest and by tag; of another platform, if there is none for this one.
    let exotic = json!({"repository": registry.repository("a"),
        "platform": {"architecture": "none"}});
    for (source, reference) in [(&source, digest), (&source, "t"), (&exotic, digest)] {
        let image = served(source, reference).unwrap();
        assert_eq!(image.digest.to_string(), digest, "{reference}");
        assert_eq!(image.user.as_deref(), Some("1000"), "{reference}");
    }
    for missing in ["none", &format!("sha256:{}", "0".repeat(64)), "../x", ""] {
        assert!(served(&source, missing).is_err(), "{missing:?}");
    }
}
