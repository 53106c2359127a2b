//! `git put` to a real repository over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{fs, path::Path};

use common::{
    Ran, Type,
    git_server::GitServer,
    repository::{Repository, git},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const GIT: Type = Type("git");

/// A remote, and the inputs of a put: a clone with a commit that is not pushed.
struct Build {
    remote: Repository,
    inputs: TempDir,
    ours: String,
}

impl Build {
    fn new() -> Self {
        let remote = Repository::new();
        remote.commit("a", "first");
        let inputs = tempdir().unwrap();
        let clone = inputs.path().join("repo");
        git(
            inputs.path(),
            &["clone", "--quiet", &remote.uri(), clone.to_str().unwrap()],
        );
        let ours = commit(&clone, "ours", "ours");
        Self {
            remote,
            inputs,
            ours,
        }
    }

    fn repo(&self) -> std::path::PathBuf {
        self.inputs.path().join("repo")
    }

    fn put(&self, params: Value) -> Ran {
        self.put_to(json!({"branch": "master"}), params)
    }

    fn put_to(&self, mut source: Value, mut params: Value) -> Ran {
        source["uri"] = json!(self.remote.uri());
        params["repository"] = json!("repo");
        GIT.push(
            self.inputs.path(),
            json!({"source": source, "params": params}),
        )
    }

    fn remote(&self, args: &[&str]) -> String {
        git(&self.remote.bare(), args)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.inputs.path().join(name), text).unwrap();
    }
}

fn commit(dir: &Path, file: &str, message: &str) -> String {
    fs::write(dir.join(file), message).unwrap();
    git(dir, &["add", "."]);
    git(dir, &["commit", "--quiet", "-m", message]);
    git(dir, &["rev-parse", "HEAD"])
}

#[test]
fn a_commit_is_pushed_and_is_the_version() {
    let build = Build::new();
    let answer = build.put(json!({})).ok();
    assert_eq!(answer["version"], json!({"ref": build.ours}));
    assert_eq!(answer["metadata"][0]["value"], json!(build.ours));
    assert_eq!(build.remote(&["rev-parse", "master"]), build.ours);
    assert!(!git(&build.repo(), &["config", "--list"]).contains("push-target"));
}

#[test]
fn another_branch_is_part_of_the_version() {
    let build = Build::new();
    let answer = build.put(json!({"branch": "other"})).ok();
    assert_eq!(
        answer["version"],
        json!({"ref": build.ours, "branch": "other"})
    );
    assert_eq!(build.remote(&["rev-parse", "other"]), build.ours);
    build
        .put(json!({"branch": "x", "refs_prefix": "refs/for"}))
        .ok();
    assert_eq!(build.remote(&["rev-parse", "refs/for/x"]), build.ours);
}

#[test]
fn who_is_behind_fails_rebases_merges_or_insists() {
    for (params, lines) in [
        (json!({}), None),
        (json!({"rebase": true}), Some(["ours", "theirs", "first"])),
        (
            json!({"rebase": true, "rebase_strategy": "ort", "rebase_strategy_option": "theirs"}),
            Some(["ours", "theirs", "first"]),
        ),
    ] {
        let build = Build::new();
        let theirs = build.remote.commit("b", "theirs");
        let ran = build.put(params.clone());
        let Some(lines) = lines else {
            ran.fails_with("git push failed");
            assert_eq!(build.remote(&["rev-parse", "master"]), theirs);
            continue;
        };
        let answer = ran.ok();
        let log = build.remote(&["log", "--format=%s", "master"]);
        assert_eq!(log.lines().collect::<Vec<_>>(), lines, "{params}");
        assert_eq!(
            answer["version"]["ref"],
            json!(build.remote(&["rev-parse", "master"]))
        );
    }
    let build = Build::new();
    build.remote.commit("b", "theirs");
    build.put(json!({"force": true})).ok();
    assert_eq!(build.remote(&["rev-parse", "master"]), build.ours);
}

#[test]
fn merges_answer_with_the_merge_or_what_was_merged() {
    for (returning, is_merge) in [("merged", true), ("unmerged", false)] {
        let build = Build::new();
        build.remote.commit("b", "theirs");
        let answer = build
            .put(json!({"merge": true, "returning": returning}))
            .ok();
        let tip = build.remote(&["rev-parse", "master"]);
        assert_eq!(build.remote(&["rev-list", "--count", "master"]), "4");
        let expected = if is_merge { &tip } else { &build.ours };
        assert_eq!(answer["version"]["ref"], json!(expected));
    }
}

#[test]
fn a_conflict_fails_and_pushes_nothing() {
    let build = Build::new();
    let theirs = build.remote.commit("ours", "theirs");
    for params in [json!({"rebase": true}), json!({"merge": true})] {
        build.put(params).fails_with("git pull failed");
        assert_eq!(build.remote(&["rev-parse", "master"]), theirs);
        let _ = std::process::Command::new("git")
            .args(["rebase", "--abort"])
            .current_dir(build.repo())
            .output();
    }
}

#[test]
fn tags_annotations_and_notes() {
    let build = Build::new();
    build.file("tag", "1.2.3\n");
    build.file("words", "what is new");
    build.file("note", "noted");
    let params = json!({"tag": "tag", "tag_prefix": "v", "annotate": "words", "notes": "note"});
    build.put(params).ok();
    assert_eq!(build.remote(&["rev-parse", "v1.2.3^{commit}"]), build.ours);
    assert_eq!(
        build.remote(&["tag", "-l", "--format=%(objecttype) %(contents)", "v1.2.3"]),
        "tag what is new"
    );
    assert_eq!(build.remote(&["notes", "show", &build.ours]), "noted");

    let build = Build::new();
    build.file("tag", "only");
    build
        .put_to(json!({}), json!({"tag": "tag", "only_tag": true}))
        .ok();
    assert_eq!(build.remote(&["rev-parse", "only"]), build.ours);
    assert_ne!(build.remote(&["rev-parse", "master"]), build.ours);
}

/// A task leaves programs in its repository wherever git might run one.
#[test]
fn hostile_repositories_run_nothing_in_a_put() {
    use std::os::unix::fs::PermissionsExt;
    for params in [json!({}), json!({"rebase": true}), json!({"merge": true})] {
        let build = Build::new();
        build.remote.commit("theirs", "theirs");
        let git_dir = build.repo().join(".git");
        let trace = build.inputs.path().join("ran");
        let evil = build.inputs.path().join("evil");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\ncat\n", trace.display());
        fs::write(&evil, &script).unwrap();
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
        for hook in [
            "pre-push",
            "reference-transaction",
            "post-checkout",
            "pre-rebase",
            "post-merge",
        ] {
            let path = git_dir.join("hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(&evil, path).unwrap();
        }
        let evil = evil.display();
        let config = format!(
            "[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\tsshCommand = {evil}\n[filter \"x\"]\n\tclean = {evil}\n\
             \tsmudge = {evil}\n[credential]\n\thelper = {evil}\n[merge \"x\"]\n\tdriver = {evil}\n\
             [remote \"origin\"]\n\tpromisor = true\n[gpg]\n\tprogram = {evil}\n[tag]\n\tgpgSign = true\n"
        );
        let mut text = fs::read_to_string(git_dir.join("config")).unwrap();
        text += &config;
        fs::create_dir_all(git_dir.join("info")).unwrap();
        fs::write(git_dir.join("info/attributes"), "* filter=x merge=x\n").unwrap();
        fs::write(git_dir.join("config"), text).unwrap();
        build.file("tag", "v1");
        let mut params = params.clone();
        params["tag"] = json!("tag");
        let joins = ["merge", "rebase"]
            .iter()
            .any(|key| params.get(key).is_some());
        if !joins {
            params["force"] = json!(true);
        }
        build.put(params.clone()).ok();
        assert!(
            !trace.exists(),
            "{params}: {}",
            fs::read_to_string(&trace).unwrap()
        );
        assert_eq!(build.remote(&["tag"]), "v1");
    }
}

/// The task's commit says that its large files are on a server of the task's choice.
#[test]
fn hostile_large_files_go_to_the_sources_own_server() {
    for params in [json!({}), json!({"only_tag": true, "tag": "tag"})] {
        let build = Build::new();
        let content = "large content";
        let id = common::image::digest(content.as_bytes())[7..].to_owned();
        let store = build.repo().join(".git/lfs/objects");
        let store = store.join(&id[..2]).join(&id[2..4]);
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join(&id), content).unwrap();
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n",
            content.len()
        );
        fs::write(build.repo().join("large.bin"), pointer).unwrap();
        let elsewhere = tempdir().unwrap();
        let evil = GitServer::start(elsewhere.path());
        let url = evil.uri("evil.git/info/lfs");
        let config = format!("[lfs]\n\turl = {url}\n\tpushurl = {url}\n");
        fs::write(build.repo().join(".lfsconfig"), config).unwrap();
        let attributes = build.repo().join(".gitattributes");
        fs::write(attributes, "*.bin filter=lfs diff=lfs merge=lfs -text\n").unwrap();
        commit(&build.repo(), "b", "with a large file");
        build.file("tag", "v1");
        build.put(params.clone()).ok();
        assert_eq!(evil.asked(), Vec::<String>::new(), "{params}");
        let sent = build.remote.root.path().join("lfs").join(&id);
        assert_eq!(fs::read_to_string(sent).unwrap(), content, "{params}");
    }
}

#[test]
fn working_trees_bare_and_packed_repositories_are_pushed() {
    let build = Build::new();
    let inputs = build.inputs.path().to_owned();
    let put = |name: &str| {
        let source = json!({"uri": build.remote.uri(), "branch": "master"});
        let params = json!({"repository": name});
        GIT.push(&inputs, json!({"source": source, "params": params}))
    };
    git(&build.repo(), &["gc", "--quiet"]);
    git(&build.repo(), &["pack-refs", "--all"]);
    put("repo").ok();
    assert_eq!(build.remote(&["rev-parse", "master"]), build.ours);
    git(
        &build.repo(),
        &["worktree", "add", "--quiet", "-b", "more", "../tree"],
    );
    let more = commit(&inputs.join("tree"), "more", "more");
    put("tree").ok();
    assert_eq!(build.remote(&["rev-parse", "master"]), more);
    git(&inputs, &["clone", "--quiet", "--bare", "tree", "bare"]);
    put("bare").ok();
    fs::create_dir(inputs.join("empty")).unwrap();
    put("empty").fails_with("params.repository is a folder without a git repository in it");
}

#[test]
fn push_options_reach_the_remote() {
    let build = Build::new();
    build.remote(&["config", "receive.advertisePushOptions", "true"]);
    let hook = build.remote.bare().join("hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\n[ \"$GIT_PUSH_OPTION_0\" = ci.skip ]\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    build.put(json!({})).fails_with("git push failed");
    build
        .put(json!({"rebase": true}))
        .fails_with("not because it is behind");
    build.put(json!({"push_options": ["ci.skip"]})).ok();
}

#[test]
fn mistakes_are_named_by_their_key() {
    let build = Build::new();
    build.file("empty", "");
    for (params, words) in [
        (json!({"merge": true, "rebase": true}), "params.merge and"),
        (json!({"tag": "none"}), "params.tag is \"none\""),
        (json!({"tag": "empty"}), "params.tag is a file"),
        (json!({"tag": "../x"}), "leads out of its folder"),
        (json!({"annotate": "none"}), "params.annotate"),
        (json!({"notes": "none"}), "params.notes"),
        (json!({"returning": "odd"}), "params.returning"),
        (json!({"branch": "-x"}), "params.branch"),
    ] {
        build.put(params).fails_with(words);
    }
    build
        .put_to(json!({}), json!({}))
        .fails_with("source.branch is missing");
    let source = json!({"uri": build.remote.uri(), "branch": "master"});
    for (params, words) in [
        (json!({}), "params.repository is missing"),
        (
            json!({"repository": "none"}),
            "params.repository is \"none\"",
        ),
    ] {
        let request = json!({"source": source, "params": params});
        GIT.push(build.inputs.path(), request).fails_with(words);
    }
}
