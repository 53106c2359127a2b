//! `git get` of a real repository over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, path::Path};

use common::{
    Type,
    repository::{Repository, git},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const GIT: Type = Type("git");

struct Got {
    folder: TempDir,
    answer: Value,
}

impl Got {
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.folder.path(), args)
    }

    fn field(&self, name: &str) -> Option<&str> {
        let fields = self.answer["metadata"].as_array().unwrap();
        let found = fields.iter().find(|field| field["name"] == name);
        found.map(|field| field["value"].as_str().unwrap())
    }
}

fn get(repository: &Repository, mut source: Value, params: Value, version: Value) -> Got {
    source["uri"] = json!(repository.uri());
    let folder = tempdir().unwrap();
    let request = json!({"source": source, "params": params, "version": version});
    let answer = GIT.fetch(folder.path(), request).ok();
    Got { folder, answer }
}

fn names(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_version_is_checked_out_and_described() {
    let repository = Repository::new();
    let first = repository.commit("a", "first\n\nwith a body");
    repository.tag("v1");
    repository.commit("b", "second");
    let got = get(
        &repository,
        json!({"branch": "master"}),
        json!({}),
        json!({"ref": first}),
    );
    assert_eq!(got.answer["version"], json!({"ref": first}));
    assert_eq!(got.read("a"), "first\n\nwith a body\n");
    assert!(!got.has("b"));
    assert_eq!(got.git(&["rev-parse", "HEAD"]), first);
    for (name, text) in [
        ("ref", format!("{first}\n")),
        ("commit", format!("{first}\n")),
        ("short_ref", first[..7].to_owned()),
        ("committer", "author@example.com".to_owned()),
        ("committer_name", "An Author".to_owned()),
        ("author", "An Author\n".to_owned()),
        ("author_date", "2026-01-02 03:00:00 +0000\n".to_owned()),
        ("committer_date", "2026-01-02 03:00:00 +0000\n".to_owned()),
        ("commit_timestamp", "2026-01-02 03:00:00 +0000\n".to_owned()),
        ("tags", "v1\n".to_owned()),
        ("branch", String::new()),
        ("url", String::new()),
        ("describe_ref", "v1\n".to_owned()),
    ] {
        assert_eq!(got.read(&format!(".git/{name}")), text, "{name}");
    }
    assert!(
        got.read(".git/commit_message")
            .starts_with("first\n\nwith a body")
    );
    assert_eq!(got.field("commit"), Some(first.as_str()));
    assert_eq!(got.field("author"), Some("An Author"));
    assert_eq!(got.field("committer"), Some("A Committer"));
    assert_eq!(got.field("tags"), Some("v1"));
    assert!(got.field("message").unwrap().starts_with("first"));
    assert!(got.read(".git/metadata.json").contains("author_date"));
}

#[test]
fn params_change_the_files() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.tag("v1");
    let params = json!({
        "short_ref_format": "dev-%s", "timestamp_format": "format:%Y%m%d", "clean_tags": true,
        "describe_ref_options": "--tags --long",
    });
    let got = get(&repository, json!({}), params, json!({"ref": first}));
    assert_eq!(got.read(".git/short_ref"), format!("dev-{}", &first[..7]));
    assert_eq!(got.read(".git/commit_timestamp"), "20260102\n");
    assert!(got.read(".git/describe_ref").starts_with("v1-0-g"));
    assert_eq!(got.git(&["tag"]), "");
}

#[test]
fn tags_and_overridden_branches_are_versions_too() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.tag("v1");
    repository.commit("b", "second");
    repository.branch("side");
    let side = repository.commit("c", "third");
    let source = json!({"branch": "master", "tag_filter": "v*"});
    let got = get(
        &repository,
        source,
        json!({}),
        json!({"ref": "v1", "commit": first}),
    );
    assert_eq!(got.answer["version"], json!({"ref": "v1"}));
    assert_eq!(got.git(&["rev-parse", "HEAD"]), first);
    let version = json!({"ref": side, "branch": "side"});
    let got = get(&repository, json!({"branch": "master"}), json!({}), version);
    assert_eq!(got.git(&["rev-parse", "HEAD"]), side);
}

#[test]
fn a_tag_and_a_list_of_branches_can_be_got() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.tag("same");
    repository.branch("same");
    repository.commit("b", "second");
    let version = json!({"ref": "same", "commit": first});
    let source = json!({"version_type": "tags", "branch": "same"});
    let got = get(&repository, source, json!({}), version);
    assert_eq!(got.git(&["rev-parse", "HEAD"]), first);
    assert_eq!(got.read(".git/tag"), "same\n");
    let version = json!({"branches": r#"["a","b/c"]"#});
    let source = json!({"version_type": "branches"});
    let got = get(&repository, source, json!({}), version.clone());
    assert_eq!(got.read("branches.json"), "[\"a\",\"b/c\"]\n");
    assert_eq!(got.answer["version"], version);
}

#[test]
fn which_tags_and_branches_come_along() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.tag("v1");
    repository.branch("side");
    repository.commit("b", "side");
    repository.tag("on-side");
    let version = json!({"ref": first});
    let master = json!({"branch": "master"});
    let tags = |source: Value, params: Value| {
        get(&repository, source, params, version.clone()).git(&["tag"])
    };
    assert_eq!(tags(master.clone(), json!({})), "v1");
    assert_eq!(
        tags(master.clone(), json!({"fetch_tags": true})),
        "on-side\nv1"
    );
    assert_eq!(tags(master.clone(), json!({"fetch_tags": false})), "");
    let source = json!({"branch": "master", "fetch_tags": true});
    assert_eq!(tags(source.clone(), json!({})), "on-side\nv1");
    assert_eq!(tags(source, json!({"fetch_tags": false})), "");

    let heads = |params: Value| {
        let got = get(&repository, master.clone(), params, version.clone());
        got.git(&["branch", "--all", "--format=%(refname)"])
    };
    assert!(!heads(json!({})).contains("side"));
    assert!(heads(json!({"all_branches": true})).contains("refs/remotes/origin/side"));
    assert!(heads(json!({"fetch": ["side"]})).contains("refs/heads/side"));
}

#[test]
fn shallow_clones_go_as_deep_as_the_version() {
    let repository = Repository::new();
    let commits: Vec<String> = (0..12)
        .map(|n| repository.commit("a", &format!("commit {n}")))
        .collect();
    let count = |version: &String, depth: u32| {
        let got = get(
            &repository,
            json!({"branch": "master"}),
            json!({"depth": depth}),
            json!({"ref": version}),
        );
        assert_eq!(got.git(&["rev-parse", "HEAD"]), *version);
        got.git(&["rev-list", "--count", "--all"])
            .parse::<usize>()
            .unwrap()
    };
    assert_eq!(count(&commits[11], 1), 1);
    let some = count(&commits[9], 1);
    assert!((3..12).contains(&some), "{some}");
    assert_eq!(count(&commits[0], 1), 12);
    assert_eq!(count(&commits[5], 300), 12);
}

#[test]
fn sparse_checkouts_leave_the_rest_out() {
    let repository = Repository::new();
    repository.commit("src/a", "first");
    let second = repository.commit("docs/b", "second");
    let got = get(
        &repository,
        json!({"sparse_paths": ["docs/*"]}),
        json!({}),
        json!({"ref": second}),
    );
    assert!(got.has("docs/b") && !got.has("src"));
}

#[test]
fn submodules_come_along_as_asked() {
    let repository = Repository::new();
    let inner = Repository::new();
    inner.commit("inner", "inner");
    let url = inner.uri();
    for path in ["one", "deep/two"] {
        repository.git(&["submodule", "--quiet", "add", &url, path]);
    }
    let outer = repository.commit("a", "with submodules");
    inner.commit("later", "later");
    let version = json!({"ref": outer});
    let has = |params: Value| {
        let got = get(&repository, json!({}), params, version.clone());
        ["one/inner", "deep/two/inner", "one/later"].map(|name| got.has(name))
    };
    assert_eq!(has(json!({})), [true, true, false]);
    assert_eq!(has(json!({"submodules": "none"})), [false, false, false]);
    assert_eq!(
        has(json!({"submodules": ["deep/two"]})),
        [false, true, false]
    );
    assert_eq!(
        has(json!({"submodules": "all", "submodule_recursive": false})),
        [true, true, false]
    );
    assert_eq!(
        has(json!({"submodules": ["one"], "submodule_remote": true})),
        [true, false, true]
    );
    assert_eq!(has(json!({"depth": 1})), [true, true, false]);
}

#[test]
fn large_files_come_along_unless_told_otherwise() {
    let repository = Repository::new();
    let content = "large content";
    let id = common::image::digest(content.as_bytes())[7..].to_owned();
    let store = repository.root.path().join("lfs");
    fs::create_dir(&store).unwrap();
    fs::write(store.join(&id), content).unwrap();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n",
        content.len()
    );
    fs::write(repository.work.join("large.bin"), &pointer).unwrap();
    fs::write(
        repository.work.join(".gitattributes"),
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    )
    .unwrap();
    let first = repository.commit("a", "with a large file");
    let version = json!({"ref": first});
    let got = get(&repository, json!({}), json!({}), version.clone());
    assert_eq!(got.read("large.bin"), content);
    let got = get(
        &repository,
        json!({}),
        json!({"disable_git_lfs": true}),
        version,
    );
    assert_eq!(got.read("large.bin"), pointer);
}

#[test]
fn notes_come_along() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.git(&["notes", "add", "-m", "noted"]);
    repository.git(&["push", "--quiet", "origin", "refs/notes/*"]);
    let got = get(&repository, json!({}), json!({}), json!({"ref": first}));
    assert_eq!(got.git(&["notes", "show"]), "noted");
}

#[test]
fn commits_under_other_names_are_found_if_asked_for() {
    let repository = Repository::new();
    repository.commit("a", "first");
    repository.branch("change");
    let hidden = repository.commit("b", "hidden");
    repository.git(&[
        "push",
        "--quiet",
        "origin",
        "HEAD:refs/changes/1",
        ":change",
    ]);
    let source = json!({"branch": "master", "search_remote_refs": true});
    let got = get(&repository, source, json!({}), json!({"ref": hidden}));
    assert_eq!(got.git(&["rev-parse", "HEAD"]), hidden);
}

#[test]
fn the_sources_settings_reach_tasks_without_its_secrets() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    let source = json!({"git_config": [
        {"name": "user.name", "value": "Task"},
        {"name": "http.extraHeader", "value": "X-Secret: s3cret"},
    ]});
    let got = get(&repository, source, json!({}), json!({"ref": first}));
    assert_eq!(got.git(&["config", "user.name"]), "Task");
    assert!(!got.read(".git/config").contains("s3cret"));
}

#[test]
fn mistakes_and_missing_commits_leave_nothing() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    let uri = repository.uri();
    let folder = tempdir().unwrap();
    let missing = "0123456789012345678901234567890123456789";
    for (params, version, words) in [
        (json!({}), json!({"ref": missing}), "git checkout failed"),
        (json!({"depth": "x"}), json!({"ref": first}), "params.depth"),
        (
            json!({"submodules": "some"}),
            json!({"ref": first}),
            "params.submodules",
        ),
        (
            json!({"fetch": ["--all"]}),
            json!({"ref": first}),
            "params.fetch",
        ),
        (json!({}), json!({"ref": "-x"}), "version.ref"),
        (
            json!({"fetch": ["none"]}),
            json!({"ref": first}),
            "git fetch failed",
        ),
    ] {
        let request = json!({"source": {"uri": uri}, "params": params, "version": version});
        GIT.fetch(folder.path(), request).fails_with(words);
        assert_eq!(names(folder.path()), 0, "{words}");
    }
}

#[test]
fn a_remote_that_goes_away_half_way_is_told_and_leaves_nothing() {
    let repository = Repository::new();
    let text = "x\n".repeat(100_000);
    fs::write(repository.work.join("large"), text).unwrap();
    let first = repository.commit("a", "first");
    repository.server.manners.lock().unwrap().cut = Some(150);
    let folder = tempdir().unwrap();
    let request = json!({"source": {"uri": repository.uri()}, "version": {"ref": first}});
    GIT.fetch(folder.path(), request.clone())
        .fails_with("git clone failed");
    assert_eq!(names(folder.path()), 0);
    let source = json!({"uri": repository.uri(), "paths": ["x"]});
    GIT.check(json!({"source": source}))
        .fails_with("failed for http://");
    repository.server.manners.lock().unwrap().cut = None;
    GIT.fetch(folder.path(), request).ok();
}
