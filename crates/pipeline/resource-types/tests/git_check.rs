//! `git check` against a real repository over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use common::{Type, repository::Repository};
use serde_json::{Value, json};

const GIT: Type = Type("git");

/// The refs that a check finds, of a source without its address.
fn refs(repository: &Repository, mut source: Value, from: Option<&str>) -> Vec<String> {
    source["uri"] = json!(repository.uri());
    let mut request = json!({"source": source});
    if let Some(from) = from {
        request["version"] = json!({"ref": from});
    }
    let answer = GIT.check(request).ok();
    let versions = answer.as_array().unwrap();
    let text = |version: &Value| version["ref"].as_str().unwrap().to_owned();
    versions.iter().map(text).collect()
}

#[test]
fn the_latest_commit_and_then_all_since_a_version() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    let second = repository.commit("b", "second");
    let third = repository.commit("c", "third");
    let branch = json!({"branch": "master"});
    let find = |source: &Value, from| refs(&repository, source.clone(), from);

    assert_eq!(find(&branch, None), [third.as_str()]);
    assert_eq!(find(&json!({}), None), [third.as_str()]);
    assert_eq!(find(&branch, Some(&second)), [second.as_str(), &third]);
    assert_eq!(find(&branch, Some(&third)), [third.as_str()]);
    assert_eq!(
        find(&branch, Some(&first)),
        [first.as_str(), &second, &third]
    );
    let missing = "0123456789012345678901234567890123456789";
    assert_eq!(find(&branch, Some(missing)), [third.as_str()]);
    let deep = json!({"branch": "master", "version_depth": 2});
    assert_eq!(find(&deep, None), [second.as_str(), &third]);
    assert_eq!(find(&deep, Some(&first)), [first.as_str(), &second, &third]);
}

#[test]
fn a_rewritten_branch_begins_anew() {
    let repository = Repository::new();
    repository.commit("a", "first");
    let gone = repository.commit("b", "second");
    repository.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repository.git(&["push", "--quiet", "--force", "origin", "HEAD"]);
    let now = repository.commit("c", "other");
    assert_eq!(refs(&repository, json!({}), Some(&gone)), [now]);
}

#[test]
fn what_did_not_change_needs_no_clone() {
    let repository = Repository::new();
    let tip = repository.commit("a", "first");
    let clones = |repository: &Repository| {
        let asked = repository.server.asked();
        asked
            .iter()
            .filter(|path| path.contains("git-upload-pack") && !path.contains("info/refs"))
            .count()
    };
    refs(&repository, json!({"branch": "master"}), Some(&tip));
    // One question for names, in protocol 2, and no pack.
    assert!(clones(&repository) <= 1);
}

#[test]
fn paths_messages_and_skips_filter() {
    let repository = Repository::new();
    let docs = repository.commit("docs/x", "docs: one");
    let code = repository.commit("src/x", "fix: two");
    repository.commit("src/y", "three [ci skip]");
    repository.commit("src/y", "[skip ci] four");
    let last = repository.commit("docs/y", "docs: five");
    for (source, from, expected) in [
        (json!({}), Some(&docs), vec![&docs, &code, &last]),
        (json!({"paths": ["src/*"]}), None, vec![&code]),
        (json!({"paths": ["docs"]}), Some(&docs), vec![&docs, &last]),
        (json!({"ignore_paths": ["docs"]}), None, vec![&code]),
        (json!({"paths": ["nothing"]}), None, vec![]),
        (
            json!({"paths": ["."], "ignore_paths": ["src"]}),
            Some(&docs),
            vec![&docs, &last],
        ),
        (
            json!({"commit_filter": {"include": ["^fix"]}}),
            None,
            vec![&code],
        ),
        (
            json!({"commit_filter": {"exclude": ["docs"]}}),
            None,
            vec![&code],
        ),
        (
            json!({"commit_filter": {"include": ["docs", "fix"]}}),
            Some(&docs),
            vec![&docs, &code, &last],
        ),
        (
            json!({"commit_filter": {"include": ["docs", "five"], "include_all_match": true}}),
            Some(&docs),
            vec![&last],
        ),
        (
            json!({"commit_filter": {"exclude": ["docs", "five"], "exclude_all_match": true}}),
            Some(&docs),
            vec![&docs, &code],
        ),
    ] {
        let found = refs(&repository, source.clone(), from.map(String::as_str));
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "{source} {from:?}"
        );
    }
    let all = json!({"disable_ci_skip": true});
    assert_eq!(refs(&repository, all, Some(&docs)).len(), 5);
}

#[test]
fn merges_count_as_one_commit_of_the_branch() {
    let repository = Repository::new();
    let first = repository.commit("a", "first");
    repository.branch("side");
    repository.commit("b", "on the side");
    repository.git(&["checkout", "--quiet", "master"]);
    let second = repository.commit("c", "second");
    repository.git(&["merge", "--quiet", "--no-ff", "-m", "merged", "side"]);
    let merge = repository.commit("d", "after");
    let found = refs(&repository, json!({"branch": "master"}), Some(&first));
    assert_eq!(
        (found.len(), &found[0], &found[1], &found[3]),
        (4, &first, &second, &merge)
    );
}

#[test]
fn tags_are_versions() {
    let repository = Repository::new();
    let one = repository.commit("a", "one");
    repository.tag("v1");
    repository.commit("b", "between");
    let two = repository.commit("c", "two");
    repository.tag("v2");
    repository.tag("other/2");
    repository.branch("side");
    let three = repository.commit("d", "three");
    repository.tag("v3");
    let check = |mut source: Value, version: Value| {
        source["uri"] = json!(repository.uri());
        GIT.check(json!({"source": source, "version": version}))
            .ok()
    };
    let tag = |name: &str, commit: &str| json!({"ref": name, "commit": commit});
    let none = Value::Null;
    for (source, version, expected) in [
        (
            json!({"tag_filter": "v*"}),
            &none,
            json!([tag("v3", &three)]),
        ),
        (
            json!({"tag_filter": "v*", "branch": "master"}),
            &none,
            json!([tag("v2", &two)]),
        ),
        (
            json!({"tag_filter": "v*", "version_depth": 9}),
            &json!({"ref": "v2", "commit": two}),
            json!([tag("v2", &two), tag("v3", &three)]),
        ),
        (
            json!({"tag_regex": "v[12]", "version_depth": 9, "branch": "master"}),
            &json!({"ref": "v1"}),
            json!([tag("v1", &one), tag("v2", &two)]),
        ),
        (json!({"tag_regex": "v"}), &none, json!([])),
        (
            json!({"tag_filter": "v*"}),
            &json!({"ref": "v0"}),
            json!([tag("v3", &three)]),
        ),
        (
            json!({"tag_filter": "other/*"}),
            &none,
            json!([tag("other/2", &two)]),
        ),
    ] {
        assert_eq!(
            check(source.clone(), version.clone()),
            expected,
            "{source} {version}"
        );
    }
    let leading = check(
        json!({"tag_filter": "v2", "tag_behaviour": "match_tag_ancestors", "version_depth": 9}),
        none,
    );
    let refs: Vec<&str> = leading
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["ref"].as_str().unwrap())
        .collect();
    assert_eq!(
        (refs.len(), refs[0], refs[2]),
        (3, one.as_str(), two.as_str())
    );
}

#[test]
fn all_tags_are_versions_in_the_order_asked_for() {
    let repository = Repository::new();
    let one = repository.commit("a", "one");
    repository.tag("v1.10");
    repository.branch("side");
    let two = repository.commit("b", "two");
    // Later, and on another branch, and lower.
    repository.tag("v1.9");
    repository.git(&["tag", "plain"]);
    repository.git(&["push", "--quiet", "origin", "plain"]);
    let check = |mut source: Value, version: Value| {
        source["uri"] = json!(repository.uri());
        source["version_type"] = json!("tags");
        GIT.check(json!({"source": source, "version": version}))
            .ok()
    };
    let tag = |name: &str, commit: &str| json!({"ref": name, "commit": commit});
    let (ten, nine, plain) = (tag("v1.10", &one), tag("v1.9", &two), tag("plain", &two));
    for (source, expected) in [
        (json!({"tag_filter": "v*"}), json!([ten, nine])),
        (
            json!({"tag_filter": "v*", "tag_sort": "version"}),
            json!([nine, ten]),
        ),
        (
            json!({"tag_regex": "v1\\.[0-9]+", "tag_sort": "version", "branch": "master"}),
            json!([nine, ten]),
        ),
        (
            json!({"tag_sort": "version", "version_depth": 1}),
            json!([ten]),
        ),
        (json!({"tag_sort": "refname"}), json!([plain, ten, nine])),
        (json!({"tag_filter": "none*"}), json!([])),
    ] {
        for version in [Value::Null, ten.clone()] {
            assert_eq!(check(source.clone(), version), expected, "{source}");
        }
    }
    let source = json!({"uri": repository.uri(), "version_type": "tags", "tag_sort": "size"});
    GIT.check(json!({"source": source}))
        .fails_with("source.tag_sort is not valid: unknown variant `size`");
}

#[test]
fn branches_are_one_version() {
    let repository = Repository::new();
    repository.commit("a", "one");
    for name in ["feature/b", "feat/a", "other"] {
        repository.branch(name);
        repository.commit(name, name);
    }
    let check = |mut source: Value| {
        source["uri"] = json!(repository.uri());
        source["version_type"] = json!("branches");
        GIT.check(json!({"source": source}))
    };
    for (source, expected) in [
        (json!({}), r#"["feat/a","feature/b","master","other"]"#),
        (
            json!({"branch_filters": ["feat/*", "feature/*"]}),
            r#"["feat/a","feature/b"]"#,
        ),
        (
            json!({"branch_regex": "m.*|feat/."}),
            r#"["feat/a","master"]"#,
        ),
        (json!({"branch_filters": ["x*"]}), "[]"),
    ] {
        assert_eq!(check(source).ok(), json!([{"branches": expected}]));
    }
    check(json!({"branch_filters": ["--upload-pack=x"]})).fails_with("source.branch_filters");
    let both = json!({"branch_filters": ["a"], "branch_regex": "a"});
    check(both).fails_with("exclude each other");
}

#[test]
fn keys_that_the_type_does_not_know_are_warnings() {
    let repository = Repository::new();
    let first = repository.commit("a", "one");
    let source = json!({"uri": repository.uri(), "depth": 1, "submodules": "none"});
    let ran = GIT.check(json!({"source": source}));
    let words = "warning: source.depth is not a key of this type and has no effect";
    assert!(ran.log.contains(words), "{}", ran.log);
    assert_eq!(ran.ok(), json!([{"ref": first}]));
}

#[test]
fn mistakes_are_named_by_their_key() {
    let repository = Repository::new();
    repository.commit("a", "first");
    let uri = repository.uri();
    for (source, words) in [
        (json!({}), "source.uri is missing"),
        (json!({"uri": "/etc"}), "source.uri is a folder"),
        (
            json!({"uri": "ext::sh -c id"}),
            "source.uri would run a program",
        ),
        (
            json!({"uri": uri, "branch": "none"}),
            "source.branch is \"none\"",
        ),
        (
            json!({"uri": uri, "branch": "--upload-pack=x"}),
            "source.branch",
        ),
        (
            json!({"uri": uri, "commit_filter": {"include": "text"}}),
            "source.commit_filter is not valid: include is \"text\", and must be a list",
        ),
        (
            json!({"uri": uri, "commit_filter": ["x"]}),
            "source.commit_filter",
        ),
        (
            json!({"uri": uri, "tag_filter": "--contains=x"}),
            "source.tag_filter",
        ),
        (
            json!({"uri": uri, "version_depth": "x"}),
            "source.version_depth",
        ),
        (
            json!({"uri": uri, "version_depth": 0}),
            "source.version_depth must be",
        ),
        (
            json!({"uri": uri, "tag_filter": "a", "tag_regex": "b"}),
            "source.tag_filter and",
        ),
        (
            json!({"uri": uri, "tag_regex": "("}),
            "source.tag_regex must be",
        ),
        (
            json!({"uri": uri, "tag_behaviour": "odd"}),
            "source.tag_behaviour",
        ),
        (
            json!({"uri": uri, "commit_filter": {"include": {}}}),
            "source.commit_filter is not valid",
        ),
        (
            json!({"uri": uri, "git_config": [{"name": "x"}]}),
            "source.git_config",
        ),
        (json!({"uri": repository.server.uri("no.git")}), "no.git"),
        (json!({"uri": "http://127.0.0.1:1/x"}), "127.0.0.1"),
    ] {
        GIT.check(json!({"source": source})).fails_with(words);
    }
    let dashed = json!({"source": {"uri": uri}, "version": {"ref": "--all"}});
    GIT.check(dashed).fails_with("version.ref");
}
