//! Sets that are deleted: what they wait for, what they do not, and what is told meanwhile. Agents
//! are told of by the tests themselves.

use crate::support::ghost::Ghost;
use crate::support::operator::{Operator, Registry, Stage};
use airside_scenarios::wait_until;
use serde_json::{Value, json};

struct Scene {
    registry: Registry,
    _operator: Operator,
}

impl Scene {
    /// A set called `app`, whose one image is found: its name, and what the set's status has of it.
    fn found(&self, stage: &Stage) -> (String, Vec<Value>) {
        let image = self.registry.image("org/app:1");
        stage.apply_set("app", &json!({"images": [{"image": image}]}));
        let images = stage.images("app", "it is found", |it| it[0]["state"] == "found");
        (image, images)
    }
}

fn scene(stage: &Stage, options: &[&str]) -> Scene {
    let registry = Registry::start(stage, &["--made", "org/app"]);
    let operator = stage.operator(&registry, options);
    Scene {
        registry,
        _operator: operator,
    }
}

fn present(images: &[Value]) -> Value {
    let present = images.iter().map(
        |image| json!({"image": image["image"], "digest": image["digest"], "state": "present"}),
    );
    present.collect()
}

fn delete(stage: &Stage, set: &str) {
    let (own, later) = (["-n", &stage.namespace], "--wait=false");
    stage.kubectl(&[&["delete", "imageset", set, later][..], &own].concat());
}

fn left_behind(stage: &Stage, set: &str) -> Vec<String> {
    let status = stage.set(set).unwrap_or_default()["status"].clone();
    serde_json::from_value(status["leftBehind"].clone()).unwrap_or_default()
}

fn events(stage: &Stage) -> String {
    stage.kubectl(&["get", "events", "-n", &stage.namespace, "-o", "json"])
}

#[test]
fn a_deleted_set_waits_for_nodes_that_can_let_go_and_for_no_others() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let scene = scene(&stage, &["--deletion-deadline=600"]);
    let down = Ghost::new(&stage, "Unknown");
    let (image, images) = scene.found(&stage);
    stage.say_node("n1", &present(&images), 1);
    stage.say_node(&down.1, &present(&images), 1);
    delete(&stage, "app");
    let on = |node: &str| format!("{image} on {node}");
    wait_until("what is still on nodes is told", || {
        left_behind(&stage, "app") == [on("n1"), on(&down.1)]
    });
    let set = stage.set("app").unwrap();
    let conditions = set["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|it| it["type"] == "Ready").unwrap();
    assert_eq!(ready["reason"], "Deleting", "{ready}");
    assert_eq!(
        set["status"]["images"].as_array().unwrap().len(),
        1,
        "{set}"
    );
    // Something else happens meanwhile, and the set is still there.
    let other = scene.registry.image("org/app:2");
    stage.apply_set("other", &json!({"images": [{"image": other}]}));
    stage.images("other", "it is found", |it| it[0]["state"] == "found");
    assert!(stage.set("app").is_some());
    stage.say_node("n1", &json!([]), 2);
    wait_until("the set is gone", || stage.set("app").is_none());
    wait_until("what was left is told", || {
        let events = events(&stage);
        events.contains("LeftBehind")
            && events.contains(&on(&down.1))
            && !events.contains(&on("n1"))
    });
}

#[test]
fn a_deletion_has_a_deadline_and_says_what_was_left_however_much() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let scene = scene(&stage, &["--deletion-deadline=3"]);
    let image = |at: usize| {
        let tag = format!("{at:0>100}");
        json!({"image": scene.registry.image(&format!("org/app:{tag}"))})
    };
    let images: Vec<Value> = (0..30).map(image).collect();
    stage.apply_set("app", &json!({"images": images}));
    let images = stage.images("app", "all are found", |it| {
        it.len() == 30 && it.iter().all(|it| it["state"] == "found")
    });
    stage.say_node("n1", &present(&images), 1);
    // Another finalizer holds it too, so that it can be looked at once ours is gone.
    let finalizers = |all: &[&str]| {
        let patch = json!({"metadata": {"finalizers": all}}).to_string();
        let set = ["patch", "imageset", "app", "-n", &stage.namespace];
        stage.kubectl(&[&set[..], &["--type=merge", "-p", &patch]].concat());
    };
    finalizers(&["images.airside.dev/on-nodes", "test.airside.dev/other"]);
    delete(&stage, "app");
    wait_until("we let go", || {
        stage.set("app").unwrap()["metadata"]["finalizers"] == json!(["test.airside.dev/other"])
    });
    let left = left_behind(&stage, "app");
    assert_eq!(left.len(), 30);
    assert!(left.iter().all(|what| what.ends_with(" on n1")), "{left:?}");
    wait_until("an event tells of it", || {
        let events = events(&stage);
        events.contains("LeftBehind") && events.contains(" more. Agents remove it")
    });
    finalizers(&[]);
    wait_until("the set is gone", || stage.set("app").is_none());
}

#[test]
fn a_namespace_that_is_deleted_takes_its_sets_along() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let scene = scene(&stage, &["--deletion-deadline=600"]);
    let down = Ghost::new(&stage, "Unknown");
    let (_, images) = scene.found(&stage);
    stage.say_node(&down.1, &present(&images), 1);
    // What is left behind cannot be told by an event: a namespace that goes takes none.
    stage.kubectl(&["delete", "namespace", &stage.namespace, "--wait=false"]);
    wait_until("the namespace is gone", || {
        stage.get(&["namespace", &stage.namespace]).is_none()
    });
}
