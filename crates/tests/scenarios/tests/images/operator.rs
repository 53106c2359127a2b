//! The operator of images on nodes, on a real cluster and with a real registry: what it says about
//! sets, and what it does when registries and nodes fail. Agents are told of by the tests
//! themselves.

use crate::support::operator::{NAMESPACE, Registry, Stage};
use airside_scenarios::{wait_for, wait_until};
use serde_json::{Value, json};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_found(images: &[Value]) -> bool {
    !images.is_empty() && images.iter().all(|image| image["state"] == "found")
}

/// A node agent's report of images that are there.
fn present(images: &[Value]) -> Value {
    let all = images.iter();
    all.map(|image| json!({"image": image["image"], "digest": image["digest"], "state": "present"}))
        .collect()
}

#[test]
fn definitions_are_explained_and_refuse_nonsense_in_our_words() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    // Twice, without a word of warning.
    let said = stage.install(&["--replicas=0"]);
    assert!(!said.contains("Warning"), "{said}");
    let explained = stage.kubectl(&["explain", "imageset.spec.checkEvery"]);
    assert!(
        explained.contains("How often registries are asked"),
        "{explained}"
    );
    for (spec, words) in [
        (json!({"images": []}), "should have at least 1 items"),
        (
            json!({"images": [{"image": "a", "repository": "b"}]}),
            "give either image or repository",
        ),
        (
            json!({"images": [{"repository": "b"}]}),
            "a repository needs semver or pattern",
        ),
        (
            json!({"images": [{"image": "a", "semver": "^1"}]}),
            "a repository needs semver or pattern",
        ),
        (
            json!({"images": [{"repository": "b", "semver": "^1", "pattern": "*"}]}),
            "give semver or pattern, not both",
        ),
        (
            json!({"images": [{"image": "a"}], "checkEvery": "soon"}),
            "checkEvery",
        ),
        (
            json!({"images": [{"image": "a"}], "failuresBeforeError": 0}),
            "failuresBeforeError",
        ),
        (
            json!({"images": [{"image": "a"}], "platforms": ["linux"]}),
            "platforms",
        ),
        (
            json!({"images": [{"image": "a"}], "placement": {"mode": "force"}}),
            "placement.mode",
        ),
        (
            json!({"images": [{"repository": "b", "pattern": "*", "keep": 33}]}),
            "keep",
        ),
    ] {
        let refused = stage.try_apply_text(&stage.set_text("bad", &spec));
        let said = refused.expect_err(&spec.to_string());
        assert!(said.contains(words), "{spec}: {said}");
    }
}

#[test]
fn a_set_is_ready_when_its_images_are_on_its_nodes_and_follows_its_tag() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    let _operator = stage.operator(&registry, &[]);
    let image = registry.image("org/app:1");
    stage.apply_set(
        "app",
        &json!({"images": [{"image": image}], "checkEvery": "5s",
            "nodes": {"matchLabels": {"kubernetes.io/hostname": "n1"}}}),
    );
    let found = stage.images("app", "the tag is found", is_found);
    assert_eq!(text(&found[0]["digest"]), registry.digest("org/app", "1"));
    let content = &found[0]["platforms"]["linux/amd64"];
    assert!(
        text(&content["digest"]).starts_with("sha256:")
            && text(&content["id"]).starts_with("sha256:")
    );
    assert!(content["sizeBytes"].as_u64() > Some(0));
    stage.say_node("n1", &present(&found), 1);
    let wait = [
        "wait",
        "--for=condition=Ready",
        "imageset/app",
        "--timeout=60s",
        "-n",
        &stage.namespace,
    ];
    stage.kubectl(&wait);
    let listed = stage.kubectl(&["get", "ims", "app", "-n", &stage.namespace]);
    assert!(
        listed.contains("1/1") && listed.contains("True"),
        "{listed}"
    );

    // Another platform's content is not a move.
    registry.control(&json!({"touch": "org/app:1"}));
    let digest = registry.digest("org/app", "1");
    let touched = stage.images("app", "the index is another", |it| {
        text(&it[0]["digest"]) == digest
    });
    assert_eq!(touched[0]["platforms"]["linux/amd64"], *content);
    assert_eq!(touched[0]["moved"], Value::Null);

    registry.control(&json!({"move": "org/app:1"}));
    let digest = registry.digest("org/app", "1");
    let moved = stage.images("app", "the tag moves", |it| {
        text(&it[0]["digest"]) == digest
    });
    assert_ne!(moved[0]["platforms"]["linux/amd64"], *content);
    assert!(!text(&moved[0]["moved"]).is_empty());
    let is_ready = |status: &str| {
        stage.set("app").unwrap()["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == status)
    };
    wait_until("the set is not ready any more", || is_ready("False"));
    stage.say_node("n1", &present(&moved), 2);
    wait_until("the set is ready again", || is_ready("True"));
}

#[test]
fn the_newest_tags_that_fit_over_pages() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    let tags = [
        "0.9.0", "1.2.0", "1.10.0", "1.9.9", "2.0.0", "main-1", "main-2", "latest",
    ];
    registry.control(&json!({"tags": {"org/app": tags}}));
    let _operator = stage.operator(&registry, &[]);
    let repository = registry.image("org/app");
    let images = json!([
        {"repository": repository, "semver": "^1", "keep": 2},
        {"repository": repository, "pattern": "main-*"},
    ]);
    stage.apply_set("app", &json!({"images": images, "checkEvery": "5s"}));
    let names = |images: &[Value]| -> Vec<String> {
        let tag = |image: &Value| text(&image["image"]).rsplit(':').next().unwrap().to_owned();
        images.iter().map(tag).collect()
    };
    let found = stage.images("app", "tags are found", is_found);
    assert_eq!(names(&found), ["1.10.0", "1.9.9", "main-2"]);
    let more = [&tags[..], &["1.11.0", "main-3"]].concat();
    registry.control(&json!({"tags": {"org/app": more}}));
    stage.images("app", "new tags are followed", |it| {
        names(it) == ["1.10.0", "1.11.0", "main-3"]
    });
}

#[test]
fn what_registries_do_wrong_is_told_and_what_was_known_stays() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let mut registry = Registry::start(&stage, &["--made", "org/app"]);
    let _operator = stage.operator(&registry, &[]);
    let image = registry.image("org/app:1");
    stage.apply_set(
        "app",
        &json!({"images": [{"image": image}], "checkEvery": "5s"}),
    );
    let before = stage.images("app", "the tag is found", is_found);
    let digest = text(&before[0]["digest"]).to_owned();
    let in_trouble = |state: &str, words: &str| {
        let found = stage.images("app", words, |it| {
            it[0]["state"] == state && text(&it[0]["message"]).contains(words)
        });
        assert_eq!(text(&found[0]["digest"]), digest, "what was known stays");
        found
    };
    for (fault, state, words) in [
        (json!({"status": 401}), "error", "us "),
        (json!({"status": 403}), "error", "denies access to"),
        (json!({"status": 404}), "missing", "the registry has no"),
        (json!({"status": 503}), "error", "has trouble with"),
    ] {
        registry.fault(&fault);
        in_trouble(state, words);
        registry.fault(&Value::Null);
        stage.images("app", "it is well again", is_found);
    }
    let lie = format!("sha256:{}", "0".repeat(64));
    registry.fault(&json!({"lie": lie, "only": "manifests/1$"}));
    in_trouble("error", "is gone");
    registry.fault(&Value::Null);
    stage.images("app", "it is well again", is_found);

    registry.fault(&json!({"slow": 25, "only": "manifests"}));
    in_trouble("error", "sent nothing for");
    registry.fault(&Value::Null);
    stage.images("app", "it is well again", is_found);

    registry.stop();
    in_trouble("error", "cannot reach");
    registry.start_again();
    stage.images("app", "it is well again", |it| {
        is_found(it) && it[0]["failures"] == 0
    });
}

#[test]
fn a_registry_that_asks_for_it_is_left_alone_by_all_sets() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    registry.fault(&json!({"status": 429, "retry_after": 20, "only": "manifests"}));
    let start = std::time::Instant::now();
    let _operator = stage.operator(&registry, &[]);
    stage.apply_set(
        "one",
        &json!({"images": [{"image": registry.image("org/app:1")}], "checkEvery": "5s"}),
    );
    stage.images("one", "it is told", |it| {
        text(&it[0]["message"]).contains("asked too often")
    });
    let asked = registry.count("requests");
    registry.fault(&Value::Null);
    stage.apply_set(
        "two",
        &json!({"images": [{"image": registry.image("org/app:2")}], "checkEvery": "5s"}),
    );
    stage.images("two", "the other set waits too", |it| {
        text(&it[0]["message"]).contains("left alone")
    });
    assert_eq!(registry.count("requests"), asked);
    stage.images("two", "and gets its answer in the end", is_found);
    assert!(start.elapsed().as_secs() >= 20, "{:?}", start.elapsed());
}

#[test]
fn pull_secrets_are_tried_in_order_and_edits_count_at_once() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app", "--user", "me:right"]);
    let secret = |name: &str, key: &str, password: &str| {
        let config = json!({"auths": {key: {"username": "me", "password": password}}});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": name, "namespace": stage.namespace},
            "stringData": {".dockerconfigjson": config.to_string()},
        });
        stage.apply_text(&secret.to_string());
    };
    secret("wrong", registry.host(), "wrong");
    secret("right", &registry.image("org"), "right");
    secret("elsewhere", "other.example", "right");
    let _operator = stage.operator(&registry, &[]);
    let set = |secrets: &[&str], tag: &str| {
        let images = json!([{"image": registry.image(&format!("org/app:{tag}"))}]);
        stage.apply_set(
            "app",
            &json!({"images": images, "pullSecrets": secrets, "checkEvery": "1h"}),
        );
    };
    set(&["elsewhere"], "1");
    stage.images("app", "nobody is let in", |it| {
        text(&it[0]["message"]).contains("denies access to")
    });
    set(&["no-such"], "1");
    stage.images("app", "a secret is missing", |it| {
        text(&it[0]["message"]).contains("there is no secret")
    });
    set(&["elsewhere", "wrong", "right"], "1");
    stage.images("app", "the last one is let in", is_found);
    set(&["right"], "2");
    let found = stage.images("app", "another tag", |it| {
        is_found(it) && text(&it[0]["image"]).ends_with(":2")
    });
    assert_eq!(found.len(), 1, "nothing is left of the old one");

    // Deleted and made again, it is asked about again.
    let asked = registry.count("heads");
    stage.kubectl(&["delete", "imageset", "app", "-n", &stage.namespace]);
    set(&["right"], "2");
    stage.images("app", "it is found again", is_found);
    assert!(registry.count("heads") > asked);
}

#[test]
fn a_new_operator_knows_what_the_old_one_knew_and_asks_nothing_twice() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    let holder = || {
        let lease = stage.get(&["lease", "airside-images-operator", "-n", NAMESPACE])?;
        Some(text(&lease["spec"]["holderIdentity"]).to_owned())
    };
    let mut first = stage.operator(&registry, &[]);
    wait_until("the first works", || holder().as_ref() == Some(&first.name));
    let second = stage.one_more_operator(&registry, &[]);
    let image = |tag: usize| json!({"image": registry.image(&format!("org/app:{tag}"))});
    let spec = json!({"images": (0..20).map(image).collect::<Vec<_>>(), "checkEvery": "1h"});
    // Two sets that want the same ask once.
    let sets: Vec<Value> = ["one", "two"]
        .iter()
        .map(|name| serde_json::from_str(&stage.set_text(name, &spec)).unwrap())
        .collect();
    stage.apply_text(&json!({"apiVersion": "v1", "kind": "List", "items": sets}).to_string());
    for name in ["one", "two"] {
        stage.images(name, "all are found", |it| it.len() == 20 && is_found(it));
    }
    assert_eq!(registry.count("heads"), 20);
    first.kill();
    wait_until("the other takes over", || {
        holder().as_ref() == Some(&second.name)
    });
    let one = json!([{"image": registry.image("org/app:new")}]);
    stage.apply_set("three", &json!({"images": one, "checkEvery": "1h"}));
    stage.images("three", "it works", is_found);
    assert_eq!(
        registry.count("heads"),
        21,
        "what was known was not asked again"
    );
    stage.images("one", "nothing is forgotten", |it| {
        it.len() == 20 && is_found(it)
    });
}

#[test]
fn fifty_sets_of_forty_images() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    let operator = stage.operator(&registry, &["--requests-per-second=200"]);
    let start = std::time::Instant::now();
    let sets: Vec<Value> = (0..50)
        .map(|set| {
            let image =
                |tag: usize| json!({"image": registry.image(&format!("org/app:{set}-{tag}"))});
            let images: Vec<Value> = (0..40).map(image).collect();
            let spec = json!({"images": images, "checkEvery": "1h"});
            serde_json::from_str(&stage.set_text(&format!("set-{set}"), &spec)).unwrap()
        })
        .collect();
    stage.apply_text(&json!({"apiVersion": "v1", "kind": "List", "items": sets}).to_string());
    let count = || {
        let listed = stage.get(&["imagesets", "-n", &stage.namespace])?;
        let sets = listed["items"].as_array()?.clone();
        let images = sets.iter().flat_map(|set| {
            set["status"]["images"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        });
        Some(images.filter(|image| image["state"] == "found").count())
    };
    let deadline = start + airside_scenarios::WAIT_TIMEOUT * 4;
    while count() != Some(2000) {
        assert!(
            std::time::Instant::now() < deadline,
            "{:?} of 2000",
            count()
        );
    }
    let took = start.elapsed();
    let writes = wait_for("the operator says how much it wrote", || {
        let log = operator.log(&stage);
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter_map(|line| line["fields"]["all"].as_u64())
            .next_back()
    });
    let requests = registry.count("requests");
    println!(
        "50 sets × 40 images: {took:?}, {writes} API writes, {requests} requests to the registry"
    );
    assert!(writes < 2000, "{writes} writes");
}
