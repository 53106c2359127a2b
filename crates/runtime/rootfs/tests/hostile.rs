//! Sources, registries and teams that mean harm.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use airside_rootfs::{Error, ImageSource, Images, Options, PullFault};
use common::{
    Compression, blob, image, layer, options,
    standin::{Gives, Standin},
};
use serde_json::{Value, json};
use tempfile::tempdir;

fn source(reference: String, team: &str, source: Value) -> ImageSource {
    ImageSource::Registry {
        reference,
        source: source.as_object().unwrap().clone(),
        team: team.to_owned(),
    }
}

fn login() -> Value {
    json!({"username": "user", "password": "word"})
}

fn leftovers(store: &Path) -> usize {
    fs::read_dir(store.join("tmp")).unwrap().count()
}

/// Runs a test of this file in a process with the keys of a server.
fn with_keys(test: &str, env: &[(&str, &str)]) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("AWS_ACCESS_KEY_ID", "operators-id")
        .env("AWS_SECRET_ACCESS_KEY", "operators-secret")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Counts who connects.
fn listen() -> (u16, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(Mutex::new(0));
    let seen = count.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            *seen.lock().unwrap() += 1;
            drop(stream);
        }
    });
    (port, count)
}

#[test]
fn hostile_source_gets_neither_the_servers_keys_nor_its_login() {
    let (aws, asked) = listen();
    let (evil, heard) = listen();
    with_keys(
        "in_a_process_with_keys",
        &[
            ("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{aws}")),
            ("TEST_EVIL", &evil.to_string()),
        ],
    );
    assert_eq!((*asked.lock().unwrap(), *heard.lock().unwrap()), (0, 0));
}

#[tokio::test]
#[ignore = "started by another test"]
async fn in_a_process_with_keys() {
    let evil = std::env::var("TEST_EVIL").unwrap();
    let store = tempdir().unwrap();
    let images = Images::open(store.path(), options()).unwrap();
    let reference = format!("some/name@sha256:{}", "0".repeat(64));
    let mut wanted = json!({"aws_region": "eu-west-1"});
    let own = source(reference.clone(), "attacker", wanted.clone());
    let error = images.ensure(&own).await.unwrap_err().to_string();
    assert!(error.contains("source.aws_access_key_id"), "{error}");
    wanted["aws_account_id"] = json!(format!("127.0.0.1:{evil}/x"));
    let named = source(reference, "attacker", wanted);
    let error = images.ensure(&named).await.unwrap_err().to_string();
    assert!(error.contains("source.aws_account_id"), "{error}");
    assert_eq!(leftovers(store.path()), 0);
}

#[test]
fn hostile_registry_meets_a_process_without_the_servers_environment() {
    with_keys("in_a_process_whose_environment_is_looked_for", &[]);
}

/// The environments of all confined processes of this test.
fn environments(store: &Path) -> Vec<String> {
    let marks = [
        env!("CARGO_BIN_EXE_airside-puller").to_owned(),
        store.to_str().unwrap().to_owned(),
    ];
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = String::from_utf8_lossy(&read(&entry.path().join("cmdline"))).into_owned();
        if marks.iter().all(|mark| line.contains(mark)) {
            let environment = read(&entry.path().join("environ"));
            found.push(String::from_utf8_lossy(&environment).into_owned());
        }
    }
    found
}

#[tokio::test]
#[ignore = "started by another test"]
async fn in_a_process_whose_environment_is_looked_for() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let digest = image(layout.path(), &[(layer(&[("f", "x")]), Compression::Gzip)]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (kept, path) = (seen.clone(), store.path().to_owned());
    let look = move || kept.lock().unwrap().extend(environments(&path));
    let registry = Standin::with_look(layout.path(), Gives::Everybody, Arc::new(look));
    let images = Images::open(store.path(), options()).unwrap();
    let reference = format!("127.0.0.1:{}/a@{digest}", registry.port);
    let asked = images.ensure(&source(reference, "a", json!({}))).await;
    asked.unwrap();
    let seen = seen.lock().unwrap();
    let root = fs::metadata("/proc/self").is_ok_and(|it| {
        use std::os::unix::fs::MetadataExt as _;
        it.uid() == 0
    });
    // Only root may look into a process that is not dumpable.
    assert!(
        !root || seen.iter().any(|found| found.contains("TMPDIR=.")),
        "{seen:?}"
    );
    for environment in seen.iter() {
        assert!(!environment.contains("operators"), "{environment}");
        assert!(!environment.contains("AWS_ACCESS"), "{environment}");
    }
}

#[tokio::test]
async fn hostile_team_gets_no_private_image_by_its_digest() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let digest = image(
        layout.path(),
        &[(layer(&[("f", "secret")]), Compression::Gzip)],
    );
    let registry = Standin::new(layout.path(), Gives::WithLogin);
    let evil = Standin::new(layout.path(), Gives::Lies);
    let images = Images::open(store.path(), options()).unwrap();
    let private = format!("127.0.0.1:{}/private/name@{digest}", registry.port);
    let mine = source(private.clone(), "victim", login());
    let rootfs = images.ensure(&mine).await.unwrap();
    registry.asked();

    // The team that proved it is not asked for again.
    assert_eq!(images.ensure(&mine).await.unwrap(), rootfs);
    assert_eq!(registry.asked(), [""; 0]);

    let theirs = source(private.clone(), "attacker", json!({}));
    let error = images.ensure(&theirs).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Pull {
                fault: PullFault::Refused,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!registry.asked().is_empty());

    // A registry of the attacker's own proves nothing, nor does a mirror.
    let lies = format!("127.0.0.1:{}/nobody/knows@{digest}", evil.port);
    let error = images.ensure(&source(lies, "attacker", json!({}))).await;
    assert!(matches!(error, Err(Error::Pull { .. })), "{error:?}");
    let mirror = json!({"registry_mirror": {"host": format!("127.0.0.1:{}", evil.port)}});
    let error = images
        .ensure(&source(private.clone(), "attacker", mirror))
        .await;
    assert!(error.is_err());
    registry.asked();

    // Another team with a login of its own asks once, and fetches nothing.
    let other = source(private, "other", login());
    assert_eq!(images.ensure(&other).await.unwrap(), rootfs);
    let asked = registry.asked();
    assert!(asked.iter().any(|it| it.starts_with("HEAD ")), "{asked:?}");
    assert!(!asked.iter().any(|it| it.contains("/blobs/")), "{asked:?}");
    assert_eq!(images.ensure(&other).await.unwrap(), rootfs);
    assert_eq!(registry.asked(), [""; 0]);
    assert_eq!(leftovers(store.path()), 0);
}

/// Two runs share a store; each names its pipeline file.
#[tokio::test]
async fn hostile_pipeline_gets_no_private_image_of_another() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let layers = [(layer(&[("f", "secret")]), Compression::Gzip)];
    let digest = image(layout.path(), &layers);
    let registry = Standin::new(layout.path(), Gives::WithLogin);
    let store_of = |pipeline: &str| {
        let shared_by = Some(pipeline.to_owned());
        let options = airside_rootfs::Options {
            shared_by,
            ..options()
        };
        Images::open(store.path(), options).unwrap()
    };
    let (own, other) = (store_of("own"), store_of("other"));
    let private = format!("127.0.0.1:{}/private/name@{digest}", registry.port);
    let with_login = source(private.clone(), "main", login());
    let rootfs = own.ensure(&with_login).await.unwrap();
    registry.asked();
    let without = source(private, "main", json!({}));
    let error = other.ensure(&without).await.unwrap_err();
    assert!(matches!(error, Error::Pull { .. }), "{error}");
    registry.asked();
    // With the login the image is there without a pull.
    assert_eq!(other.ensure(&with_login).await.unwrap(), rootfs);
    let asked = registry.asked();
    assert!(!asked.iter().any(|it| it.contains("/blobs/")), "{asked:?}");
}

/// Runs a test of this file in a network with nothing but a loopback of its own, so that it asks no
/// registry outside. Needs root.
fn without_network(test: &str) {
    if !fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0) {
        eprintln!("skipped: a network of its own needs root");
        return;
    }
    let ran = Command::new("unshare")
        .args(["--net", "sh", "-c"])
        .args(["ip link set lo up && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn hostile_mirror_proves_nothing_of_a_tag() {
    without_network("where_a_mirror_lies_about_a_tag");
}

/// Only Docker Hub has mirrors that a source names, and it cannot be reached here.
#[tokio::test]
#[ignore = "started by another test"]
async fn where_a_mirror_lies_about_a_tag() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let secret = layer(&[("f", "secret")]);
    let digest = image(layout.path(), &[(secret, Compression::Gzip)]);
    let registry = Standin::new(layout.path(), Gives::WithLogin);
    let evil = Standin::new(layout.path(), Gives::Tag);
    let images = Images::open(store.path(), options()).unwrap();
    let by_mirror = |port: u16, login: Value| {
        let mut mirror = login;
        mirror["host"] = json!(format!("127.0.0.1:{port}"));
        json!({"registry_mirror": mirror})
    };
    let private = format!("acme/private@{digest}");
    let mine = source(private, "victim", by_mirror(registry.port, login()));
    images.ensure(&mine).await.unwrap();

    let by_tag = by_mirror(evil.port, json!({}));
    let theirs = source("acme/private:x".to_owned(), "attacker", by_tag);
    let given = images.ensure(&theirs).await;
    assert!(!evil.asked().is_empty(), "the mirror was asked for the tag");
    assert!(matches!(given, Err(Error::Pull { .. })), "{given:?}");
    assert_eq!(leftovers(store.path()), 0);
}

#[tokio::test]
async fn hostile_layer_ends_where_its_manifest_says() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let config = blob(layout.path(), b"{}");
    let long = blob(layout.path(), &vec![b'x'; 8 << 20]);
    let manifest = json!({
        "schemaVersion": 2,
        "config": {"mediaType": "c", "digest": config, "size": 2},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": long, "size": 10}],
    });
    let digest = blob(layout.path(), manifest.to_string().as_bytes());
    let registry = Standin::new(layout.path(), Gives::Everybody);
    let images = Images::open(store.path(), options()).unwrap();
    let reference = format!("127.0.0.1:{}/a@{digest}", registry.port);
    let error = images.ensure(&source(reference, "a", json!({}))).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("longer than the 10 bytes"), "{error}");
    assert_eq!(leftovers(store.path()), 0);
}

#[tokio::test]
async fn hostile_manifest_that_promises_too_much_fetches_nothing() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let config = blob(layout.path(), b"{}");
    let small = blob(layout.path(), b"x");
    let descriptor = |size: u64| json!({"mediaType": "t", "digest": small, "size": size});
    for sizes in [vec![1_u64 << 50], vec![u64::MAX, u64::MAX]] {
        let layers: Vec<Value> = sizes.iter().map(|size| descriptor(*size)).collect();
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "c", "digest": config, "size": 2},
            "layers": layers,
        });
        let digest = blob(layout.path(), manifest.to_string().as_bytes());
        let registry = Standin::new(layout.path(), Gives::Everybody);
        let images = Images::open(store.path(), options()).unwrap();
        let reference = format!("127.0.0.1:{}/a@{digest}", registry.port);
        let error = images.ensure(&source(reference, "a", json!({}))).await;
        assert!(matches!(error, Err(Error::Pull { .. })), "{error:?}");
        let asked = registry.asked();
        assert!(!asked.iter().any(|it| it.contains("/blobs/")), "{asked:?}");
    }
}

#[tokio::test]
async fn nothing_is_pulled_onto_a_disk_that_is_full_enough() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let digest = image(layout.path(), &[(layer(&[("f", "x")]), Compression::Gzip)]);
    let registry = Standin::new(layout.path(), Gives::Everybody);
    let fullest = airside_volumes::Percent::new(1).unwrap();
    let disk = airside_volumes::Disk::of(store.path()).unwrap();
    let is_full = disk.room_below(fullest) == 0;
    let options = Options {
        fullest,
        ..options()
    };
    let images = Images::open(store.path(), options).unwrap();
    let reference = format!("127.0.0.1:{}/a@{digest}", registry.port);
    let ended = images.ensure(&source(reference, "a", json!({}))).await;
    if is_full {
        assert!(matches!(ended, Err(Error::DiskFull { .. })), "{ended:?}");
    } else {
        // A test's own disk may be next to empty.
        drop(ended.unwrap());
    }
    assert_eq!(registry.asked().is_empty(), is_full);
    assert_eq!(leftovers(store.path()), 0);
}

#[tokio::test]
async fn a_pull_that_nobody_waits_for_ends() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let _ = layout;
    let images = Images::open(store.path(), options()).unwrap();
    let reference = format!("127.0.0.1:{port}/a@sha256:{}", "0".repeat(64));
    let asked = source(reference, "a", json!({}));
    // It accepts and says nothing.
    let waited = tokio::time::timeout(Duration::from_millis(300), images.ensure(&asked)).await;
    assert!(waited.is_err());
    for _ in 0..600 {
        if environments(store.path()).is_empty() && leftovers(store.path()) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the confined process is still there");
}
