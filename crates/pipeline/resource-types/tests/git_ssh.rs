//! `git` over ssh, against a real sshd.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use common::{
    Type,
    http::{Response, serve},
    repository::Repository,
    sshd::Sshd,
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const GIT: Type = Type("git");

struct Remote {
    repository: Repository,
    sshd: Sshd,
    first: String,
    _keys: TempDir,
}

impl Remote {
    fn new() -> Self {
        let repository = Repository::new();
        let first = repository.commit("a", "first");
        // The user that serves it over ssh did not make it.
        let keys = tempdir().unwrap();
        let sshd = Sshd::start(keys.path());
        Self {
            repository,
            sshd,
            first,
            _keys: keys,
        }
    }

    fn source(&self, mut more: Value) -> Value {
        more["uri"] = json!(self.sshd.uri(&self.repository.bare()));
        more["branch"] = json!("master");
        more
    }

    fn finds(&self, source: Value) {
        let found = GIT.check(json!({"source": self.source(source)})).ok();
        assert_eq!(found, json!([{"ref": self.first}]));
    }

    fn refuses(&self, source: Value, words: &str) {
        GIT.check(json!({"source": self.source(source)}))
            .fails_with(words);
    }
}

#[test]
fn keys_open_the_door_with_or_without_a_passphrase() {
    let remote = Remote::new();
    let plain = remote.sshd.admit("plain", "");
    let locked = remote.sshd.admit("locked", "open sesame");
    remote.finds(json!({"private_key": plain}));
    remote.finds(json!({"private_key": plain.trim_end()}));
    remote.finds(json!({"private_key": plain, "private_key_user": "root"}));
    remote.finds(json!({"private_key": locked, "private_key_passphrase": "open sesame"}));
    remote.refuses(json!({}), "git ls-remote failed for ssh://");
    remote.refuses(
        json!({"private_key": locked, "private_key_passphrase": "wrong"}),
        "failed",
    );
    remote.refuses(json!({"private_key": "no key"}), "git ls-remote failed");
    remote.refuses(
        json!({"private_key": plain, "private_key_user": "a b"}),
        "private_key_user",
    );
}

#[test]
fn hosts_are_known_or_refused_where_they_are_named() {
    let remote = Remote::new();
    let key = remote.sshd.admit("user", "");
    let known = remote.sshd.known_host();
    remote.finds(json!({"private_key": key, "known_hosts": known}));
    let other = known.replace("127.0.0.1", "127.0.0.2");
    remote.refuses(
        json!({"private_key": key, "known_hosts": other}),
        "failed for ssh://",
    );
}

#[test]
fn a_get_and_a_put_go_the_same_way() {
    let remote = Remote::new();
    let key = remote.sshd.admit("user", "");
    let inputs = tempdir().unwrap();
    let source = remote.source(json!({"private_key": key}));
    let clone = inputs.path().join("repo");
    let request = json!({"source": source, "version": {"ref": remote.first}});
    GIT.fetch(&clone, request).ok();
    std::fs::write(clone.join("b"), "b").unwrap();
    common::repository::git(&clone, &["add", "."]);
    common::repository::git(&clone, &["commit", "--quiet", "-m", "second"]);
    let request = json!({"source": source, "params": {"repository": "repo"}});
    let answer = GIT.push(inputs.path(), request).ok();
    let tip = common::repository::git(&remote.repository.bare(), &["rev-parse", "master"]);
    assert_eq!(answer["version"], json!({"ref": tip}));
    assert_ne!(tip, remote.first);
}

#[test]
fn a_way_through_what_is_no_proxy_is_told() {
    let remote = Remote::new();
    let key = remote.sshd.admit("user", "");
    let refusing = serve(|_| Response::new(407, ""));
    let (host, port) = refusing.split_once(':').unwrap();
    let tunnel = json!({"proxy_host": host, "proxy_port": port, "proxy_user": "u"});
    remote.refuses(
        json!({"private_key": key, "https_tunnel": tunnel}),
        "failed for ssh://",
    );
    let tunnel = json!({"proxy_host": host});
    remote.refuses(json!({"https_tunnel": tunnel}), "source.https_tunnel");
}
