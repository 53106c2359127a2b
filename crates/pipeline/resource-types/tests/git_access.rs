//! Credentials of `git` at the remote, and their secrecy.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, path::Path, process::Command};

use common::{Type, repository::Repository};
use serde_json::json;
use tempfile::tempdir;

const GIT: Type = Type("git");

fn contains(folder: &Path, needle: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            contains(&path, needle)
        } else {
            fs::read(&path)
                .unwrap()
                .windows(needle.len())
                .any(|part| part == needle.as_bytes())
        }
    })
}

#[test]
fn passwords_work_and_stay_out_of_artifacts() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.server.manners.lock().unwrap().user = Some("me:s3cr&t w@rd".to_owned());
    let address = repository.server.address.clone();
    let written = format!("http://me:s3cr%26t%20w%40rd@{address}/repo.git");
    for source in [
        json!({"uri": repository.uri(), "username": "me", "password": "s3cr&t w@rd"}),
        json!({"uri": written}),
    ] {
        let found = GIT.check(json!({"source": source})).ok();
        assert_eq!(found, json!([{"ref": first}]));
        let folder = tempdir().unwrap();
        GIT.fetch(
            folder.path(),
            json!({"source": source, "version": {"ref": first}}),
        )
        .ok();
        assert!(!contains(folder.path(), "s3cr"));
    }
    for source in [
        json!({"uri": repository.uri()}),
        json!({"uri": repository.uri(), "username": "me", "password": "wrong"}),
    ] {
        let ran = GIT.check(json!({"source": source}));
        assert!(!ran.log.contains("wrong"), "{}", ran.log);
        ran.fails_with("failed for http://");
    }
}

#[test]
fn a_password_is_for_its_own_host_alone() {
    let repository = Repository::new();
    let other = Repository::new();
    other.commit("inner", "inner");
    let url = other.uri();
    repository.git(&["submodule", "--quiet", "add", &url, "sub"]);
    let outer = repository.commit("a", "with a submodule");
    for (server, user) in [(&repository.server, "me:one"), (&other.server, "you:two")] {
        server.manners.lock().unwrap().user = Some(user.to_owned());
    }
    let folder = tempdir().unwrap();
    let mut source = json!({"uri": repository.uri(), "username": "me", "password": "one"});
    let version = json!({"ref": outer});
    GIT.fetch(folder.path(), json!({"source": source, "version": version}))
        .fails_with("submodule");
    source["submodule_credentials"] =
        json!([{"host": other.server.address, "username": "you", "password": "two"}]);
    GIT.fetch(folder.path(), json!({"source": source, "version": version}))
        .ok();
    assert!(folder.path().join("sub/inner").exists());
    assert!(!contains(folder.path(), "you:two"));
}

#[test]
fn only_signed_commits_pass_where_keys_are_given() {
    let gpg_home = tempdir().unwrap();
    let gpg = |args: &[&str]| {
        let output = Command::new("gpg")
            .args([
                "--batch",
                "--quiet",
                "--homedir",
                gpg_home.path().to_str().unwrap(),
            ])
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    gpg(&[
        "--passphrase",
        "",
        "--quick-gen-key",
        "A Signer <signer@example.com>",
        "ed25519",
        "sign",
    ]);
    let key = gpg(&["--armor", "--export"]);
    let repository = Repository::new();
    let unsigned = repository.commit("a", "first");
    let program = gpg_home.path().join("gpg");
    fs::write(
        &program,
        format!(
            "#!/bin/sh\nexec gpg --homedir '{}' \"$@\"\n",
            gpg_home.path().display()
        ),
    )
    .unwrap();
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let setting = format!("gpg.program={}", program.display());
    repository.git(&[
        "-c",
        &setting,
        "commit",
        "--quiet",
        "--allow-empty",
        "-Ssigner@example.com",
        "-m",
        "signed",
    ]);
    repository.git(&["push", "--quiet", "origin", "HEAD"]);
    let signed = repository.head();

    let get = |hash: &str, key: &str| {
        let folder = tempdir().unwrap();
        let source = json!({"uri": repository.uri(), "commit_verification_keys": [key]});
        GIT.fetch(
            folder.path(),
            json!({"source": source, "version": {"ref": hash}}),
        )
    };
    get(&signed, &key).ok();
    get(&unsigned, &key).fails_with("is not signed by a key of the source");
    get(&signed, "no key").fails_with("source.commit_verification_keys");
    let _ = Command::new("gpgconf")
        .args([
            "--homedir",
            gpg_home.path().to_str().unwrap(),
            "--kill",
            "all",
        ])
        .output();
}
