//! `mock` through the same door that the shim uses: JSON in, JSON and an exit status out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::{fs, path::Path};

use serde_json::{Value, json};

struct Ran {
    status: i32,
    answer: Value,
    log: String,
}

fn run(args: &[&str], request: Value) -> Ran {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let input = request.to_string();
    let status =
        airside_resource_types::main(&args, &mut input.as_bytes(), &mut stdout, &mut stderr);
    Ran {
        status,
        answer: serde_json::from_slice(&stdout).unwrap_or_default(),
        log: String::from_utf8(stderr).unwrap(),
    }
}

fn check(request: Value) -> Ran {
    run(&["mock", "check"], request)
}

fn fetch(dest: &Path, request: Value) -> Ran {
    run(&["mock", "in", dest.to_str().unwrap()], request)
}

fn push(src: &Path, request: Value) -> Ran {
    run(&["mock", "out", src.to_str().unwrap()], request)
}

/// The version as this test's own process would make it, privileged or not.
fn version(text: &str) -> Value {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .unwrap();
    match u64::from_str_radix(set.trim(), 16).unwrap() & (1 << 21) {
        0 => json!({"version": text}),
        _ => json!({"version": text, "privileged": "true"}),
    }
}

#[test]
fn check_gives_the_version_that_the_source_asks_for() {
    for (request, expected) in [
        (json!({"source": {}}), json!([version("mock")])),
        (
            json!({"source": {"initial_version": "a"}}),
            json!([version("a")]),
        ),
        (json!({"source": {"no_initial_version": true}}), json!([])),
        (
            json!({"source": {}, "version": {"version": "b"}}),
            json!([version("b")]),
        ),
        (
            json!({"source": {"force_version": "c"}, "version": {"version": "b"}}),
            json!([version("c")]),
        ),
        (
            json!({"source": {"mirror_self": true, "check_delay": "1ms"}}),
            json!([version("mock")]),
        ),
    ] {
        let ran = check(request.clone());
        assert_eq!(
            (ran.status, &ran.answer),
            (0, &expected),
            "{request}: {}",
            ran.log
        );
    }
}

#[test]
fn check_fails_and_logs_when_told_to() {
    let ran = check(json!({"source": {"check_failure": "nope", "log": "hello"}}));
    assert_eq!(ran.status, 1);
    assert!(ran.log.contains("hello\n"), "{}", ran.log);
    assert!(
        ran.log.contains("intentionally failing to check: nope"),
        "{}",
        ran.log
    );
}

#[test]
fn in_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let dest = folder.path().join("get");
    let ran = fetch(
        &dest,
        json!({
            "source": {
                "create_files": {"a/b": "START_VARxEND_VAR", "c": {"k": 1}, "d": "source"},
                "metadata": [{"name": "n", "value": "v"}],
            },
            "params": {"create_files_via_params": {"d": "params"}},
            "version": {"version": "1"},
        }),
    );
    assert_eq!(ran.status, 0, "{}", ran.log);
    assert!(ran.log.contains("fetching version: 1\n"));
    assert_eq!(
        ran.answer,
        json!({"version": {"version": "1"}, "metadata": [{"name": "n", "value": "v"}]})
    );
    let read = |name: &str| fs::read_to_string(dest.join(name)).unwrap();
    assert_eq!(read("version"), "1\n");
    assert_eq!(
        read("privileged"),
        format!("{}\n", version("1").get("privileged").is_some())
    );
    assert_eq!(read("a/b"), "((x))");
    assert_eq!(read("c"), r#"{"k":1}"#);
    assert_eq!(read("d"), "params");
}

#[test]
fn out_takes_its_version_from_params_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("made")).unwrap();
    fs::write(folder.path().join("made/v"), "from file\n").unwrap();
    for (params, text) in [
        (json!({"version": "x"}), "x"),
        (json!({"file": "made/v"}), "from file\n"),
    ] {
        let ran = push(folder.path(), json!({"source": {}, "params": params}));
        assert_eq!(ran.status, 0, "{}", ran.log);
        assert!(ran.log.contains(&format!("pushing version: {text}")));
        assert_eq!(ran.answer["version"], version(text));
    }
    let ran = push(folder.path(), json!({"source": {}}));
    assert_eq!(ran.status, 1);
    assert!(ran.log.contains("no version specified"));
    let ran = push(
        folder.path(),
        json!({"params": {"version": "x", "print_env": true}}),
    );
    assert!(ran.log.contains("PATH="), "{}", ran.log);
}

#[test]
fn nonsense_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let dest = folder.path();
    for (ran, words) in [
        (check(json!({"source": {"bogus": 1}})), "bogus"),
        (check(json!({"source": {}, "more": 1})), "more"),
        (
            check(json!({"source": {}, "version": {"version": "1", "ref": "2"}})),
            "ref",
        ),
        (check(json!({"source": {"check_delay": "soon"}})), "soon"),
        (
            fetch(
                dest,
                json!({"source": {}, "params": {"bogus": 1}, "version": {"version": "1"}}),
            ),
            "bogus",
        ),
        (fetch(dest, json!({"source": {}})), "version"),
        (
            fetch(dest, json!({"source": {}, "version": {"ref": "1"}})),
            "ref",
        ),
        (
            fetch(
                dest,
                json!({"source": {"mirror_self": true}, "version": {"version": "1"}}),
            ),
            "there is no image to mirror",
        ),
        (
            fetch(
                dest,
                json!({"source": {"create_files": {"../x": ""}}, "version": {"version": "1"}}),
            ),
            "leads out of its folder",
        ),
        (
            push(dest, json!({"params": {"file": "missing"}})),
            "missing",
        ),
        (run(&["git2", "check"], json!({})), "git2"),
    ] {
        assert_eq!(ran.status, 1, "{words}");
        assert!(ran.log.contains(words), "{words}: {}", ran.log);
        assert_eq!(ran.answer, Value::Null);
    }
    assert_eq!(run(&["mock"], json!({})).status, 2);
}

#[test]
fn native_types_are_known_by_name() {
    assert!(airside_resource_types::is_native("mock"));
    assert!(!airside_resource_types::is_native("git2"));
}
