//! `pool` in real git repositories.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::mpsc,
    thread,
    time::Duration,
};

use common::{
    Ran, Type,
    repository::{Repository, git},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const POOL: Type = Type("pool");

/// Longer than any wait here that ends well.
const PATIENCE_OF_TESTS: Duration = Duration::from_secs(60);

fn repository(locks: &[&str]) -> Repository {
    let repository = Repository::new();
    for folder in ["claimed", "unclaimed"] {
        repository.commit(&format!("aws/{folder}/.gitkeep"), "keep");
    }
    for lock in locks {
        repository.commit(&format!("aws/{lock}"), &format!("of {lock}"));
    }
    repository
}

fn source(repository: &Repository) -> Value {
    json!({"uri": repository.uri(), "branch": "master", "pool": "aws", "retry_delay": "50ms"})
}

fn put(source: &Value, inputs: &TempDir, params: Value) -> Ran {
    POOL.push(inputs.path(), json!({"source": source, "params": params}))
}

fn get(source: &Value, version: &Value) -> (TempDir, Ran) {
    let folder = tempdir().unwrap();
    let ran = POOL.fetch(
        folder.path(),
        json!({"source": source, "version": version, "params": {"depth": 1}}),
    );
    (folder, ran)
}

/// Inputs with a folder as a get leaves it.
fn lock_folder(name: &str, metadata: &str) -> TempDir {
    let inputs = tempdir().unwrap();
    fs::create_dir(inputs.path().join("lock")).unwrap();
    fs::write(inputs.path().join("lock/name"), format!("{name}\n")).unwrap();
    fs::write(inputs.path().join("lock/metadata"), metadata).unwrap();
    inputs
}

fn files(repository: &Repository) -> Vec<String> {
    let list = git(
        &repository.bare(),
        &["ls-tree", "-r", "--name-only", "master"],
    );
    let names = list.lines().filter(|name| !name.ends_with(".gitkeep"));
    names.map(str::to_owned).collect()
}

fn lock_of(answer: &Value) -> String {
    answer["metadata"][0]["value"].as_str().unwrap().to_owned()
}

#[test]
fn the_life_of_a_lock() {
    let repository = repository(&["unclaimed/env-1"]);
    let (source, nothing) = (source(&repository), tempdir().unwrap());
    let answer = put(&source, &nothing, json!({"acquire": true})).ok();
    assert_eq!(
        answer["metadata"],
        json!([{"name": "lock_name", "value": "env-1"}, {"name": "pool_name", "value": "aws"}])
    );
    assert_eq!(files(&repository), ["aws/claimed/env-1"]);
    let log = git(
        &repository.bare(),
        &["log", "-1", "--format=%an %ae %s", "master"],
    );
    assert_eq!(log, "CI Pool Resource ci-pool@localhost claiming: env-1");
    let acquired = answer["version"].clone();
    let (folder, ran) = get(&source, &acquired);
    assert_eq!(ran.ok()["version"], acquired);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (read("name"), read("metadata")),
        ("env-1\n".into(), "of unclaimed/env-1\n".into())
    );

    let inputs = lock_folder("env-1", "");
    let released = put(&source, &inputs, json!({"release": "lock"})).ok();
    assert_eq!(files(&repository), ["aws/unclaimed/env-1"]);
    get(&source, &acquired)
        .1
        .fails_with("is not held by this version any more");
    put(&source, &inputs, json!({"release": "lock"})).fails_with("the lock env-1 is not claimed");
    put(&source, &nothing, json!({"claim": "env-1"})).ok();
    put(&source, &inputs, json!({"check_unclaimed": "lock"})).ok();

    let added = lock_folder("env-2", "two");
    put(&source, &added, json!({"add": "lock"})).ok();
    put(&source, &added, json!({"check": "lock"})).ok();
    put(&source, &added, json!({"add": "lock"})).ok();
    put(&source, &added, json!({"add_claimed": "lock"}))
        .fails_with("there is a lock env-2 already");
    let changed = lock_folder("env-2", "changed");
    let answer = put(&source, &changed, json!({"update": "lock"})).ok();
    assert_eq!(lock_of(&answer), "env-2");
    let content = git(&repository.bare(), &["show", "master:aws/unclaimed/env-2"]);
    assert_eq!(content, "changed");
    put(
        &source,
        &lock_folder("env-3", "3"),
        json!({"add_claimed": "lock"}),
    )
    .ok();
    put(
        &source,
        &lock_folder("env-3", ""),
        json!({"remove": "lock"}),
    )
    .ok();
    assert_eq!(
        files(&repository),
        ["aws/claimed/env-1", "aws/unclaimed/env-2"]
    );

    let since = POOL
        .check(json!({"source": source, "version": released["version"]}))
        .ok();
    assert_eq!(since.as_array().unwrap().len(), 6, "{since}");
    assert_eq!(since[0], released["version"]);
    let now = POOL.check(json!({"source": source})).ok();
    assert_eq!(now.as_array().unwrap(), &since.as_array().unwrap()[5..]);
    let (folder, ran) = get(&source, &now[0]);
    assert_eq!(lock_of(&ran.ok()), "env-3");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn checks_see_their_own_pool() {
    let repository = repository(&["unclaimed/env-1"]);
    let source = source(&repository);
    let latest = POOL.check(json!({"source": source})).ok();
    let head = repository.head();
    assert_eq!(latest, json!([{"ref": head}]));
    repository.commit("gcp/unclaimed/other", "another pool");
    assert_eq!(POOL.check(json!({"source": source})).ok(), latest);
    let from = |version: Value| {
        POOL.check(json!({"source": source, "version": version}))
            .ok()
    };
    assert_eq!(from(latest[0].clone()), latest);
    assert_eq!(from(json!({"ref": "0".repeat(40)})), latest);
    POOL.check(json!({"source": source, "version": {"ref": "--all"}}))
        .fails_with("version.ref is not a commit");
    let mut other = source.clone();
    other["pool"] = json!("a*");
    assert_eq!(POOL.check(json!({"source": other})).ok(), json!([]));
}

/// Many builds want few locks at once. Each lock that a build gets is its own until it is released:
/// the history is a sequence in which no lock is claimed twice without a release.
#[test]
fn acquirers_at_once_never_share_a_lock() {
    const BUILDS: usize = 8;
    let repository = repository(&["unclaimed/a", "unclaimed/b", "unclaimed/c"]);
    let source = source(&repository);
    let (sender, acquired) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..BUILDS {
            let (sender, source) = (sender.clone(), &source);
            scope.spawn(move || {
                let answer = put(source, &tempdir().unwrap(), json!({"acquire": true})).ok();
                sender.send(lock_of(&answer)).unwrap();
            });
        }
        let mut held = BTreeSet::new();
        for count in 0..BUILDS {
            let lock = acquired.recv_timeout(PATIENCE_OF_TESTS).unwrap();
            assert!(held.insert(lock.clone()), "{lock} has two owners");
            if count < BUILDS - 3 {
                // What is released may be acquired at once.
                held.remove(&lock);
                put(&source, &lock_folder(&lock, ""), json!({"release": "lock"})).ok();
            }
        }
        assert_eq!(held.len(), 3);
    });
    let log = git(
        &repository.bare(),
        &["log", "--reverse", "--format=%s", "master"],
    );
    let mut held = BTreeSet::new();
    for line in log.lines() {
        match line.split_once(": ") {
            Some(("claiming", lock)) => assert!(held.insert(lock), "{lock} claimed twice: {log}"),
            Some(("unclaiming", lock)) => assert!(held.remove(lock), "{lock}: {log}"),
            _ => {}
        }
    }
    assert_eq!(held.len(), 3);
    assert_eq!(
        log.lines()
            .filter(|line| line.starts_with("claiming: "))
            .count(),
        BUILDS
    );
}

#[test]
fn waits_say_for_what_and_end() {
    let repository = repository(&["claimed/env-1"]);
    let source = source(&repository);
    let params = json!({"acquire": true});
    let (read, write) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        let (source, params) = (&source, &params);
        let waiting = scope.spawn(move || {
            let request = json!({"source": source, "params": params}).to_string();
            let args = ["pool", "out", "/nothing"].map(str::to_owned);
            let mut log = write;
            airside_resource_types::main(&args, &mut request.as_bytes(), &mut Vec::new(), &mut log)
        });
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(read));
        let line = lines.next().unwrap().unwrap();
        assert_eq!(
            line,
            "pool aws: waiting for a lock to be released: env-1 is claimed"
        );
        put(
            source,
            &lock_folder("env-1", ""),
            json!({"release": "lock"}),
        )
        .ok();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(rest.last().unwrap(), "pool aws: claiming env-1");
        assert_eq!(waiting.join().unwrap(), 0);
    });
}

#[test]
fn nothing_in_a_repository_runs_or_leads_out() {
    let repository = repository(&["unclaimed/env-1"]);
    let (source, marks) = (source(&repository), tempdir().unwrap());
    let mark = marks.path().join("ran");
    let work = repository.work.clone();
    symlink("/etc/passwd", work.join("aws/unclaimed/link")).unwrap();
    let filter = format!("touch {}", mark.display());
    fs::write(work.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(
        work.join(".gitconfig"),
        format!("[filter \"evil\"]\n\tsmudge = {filter}\n"),
    )
    .unwrap();
    repository.commit("aws/unclaimed/deep/lock", "a folder is not a lock");
    let nothing = tempdir().unwrap();
    assert_eq!(
        lock_of(&put(&source, &nothing, json!({"acquire": true})).ok()),
        "env-1"
    );
    let inputs = lock_folder("link", "");
    put(&source, &inputs, json!({"check": "lock"})).fails_with("the pool has no lock link");
    for version in POOL
        .check(json!({"source": source}))
        .ok()
        .as_array()
        .unwrap()
    {
        get(&source, version).1.ok();
    }
    assert!(!mark.exists());

    // A server's own hook refuses: the put ends, with words.
    let hook = repository.bare().join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = put(&source, &lock_folder("env-9", ""), json!({"add": "lock"}));
    assert!(ran.log.contains("not today"), "{}", ran.log);
    ran.fails_with("the server refused a push");
}

#[test]
fn mistakes_are_named() {
    let repository = repository(&[]);
    let good = source(&repository);
    let nothing = tempdir().unwrap();
    for (key, value, words) in [
        ("uri", Value::Null, "source.uri is missing"),
        ("branch", Value::Null, "source.branch is missing"),
        (
            "branch",
            json!("--upload-pack=x"),
            "source.branch is not a name",
        ),
        ("branch", json!("none"), "git clone failed"),
        ("pool", Value::Null, "source.pool is missing"),
        ("pool", json!("../aws"), "source.pool is \"../aws\""),
        (
            "pool",
            json!("none"),
            "source.pool is \"none\", and the branch has no folder",
        ),
        (
            "retry_delay",
            json!("soon"),
            "source.retry_delay is \"soon\"",
        ),
    ] {
        let mut source = good.clone();
        source[key] = value;
        put(&source, &nothing, json!({"acquire": true})).fails_with(words);
    }
    for (params, words) in [
        (json!({}), "params need one of acquire, claim"),
        (json!({"acquire": true, "claim": "a"}), "and have 2"),
        (
            json!({"claim": ".gitkeep"}),
            "params.claim names the lock \".gitkeep\"",
        ),
        (json!({"claim": "a/../b"}), "params.claim names the lock"),
        (
            json!({"release": "none"}),
            "params.release is \"none\", whose file \"name\"",
        ),
        (json!({"add": "../x"}), "leads out of its folder"),
    ] {
        put(&good, &nothing, params).fails_with(words);
    }
    put(&good, &lock_folder("none", ""), json!({"check": "lock"}))
        .fails_with("the pool has no lock none");
    put(&good, &lock_folder("../../x", ""), json!({"add": "lock"}))
        .fails_with("which no lock may be called");
    let ran = put(
        &good,
        &lock_folder("new", "m"),
        json!({"add": "lock", "bogus": 1}),
    );
    assert!(ran.log.contains("warning: params.bogus"), "{}", ran.log);
    ran.ok();
}
