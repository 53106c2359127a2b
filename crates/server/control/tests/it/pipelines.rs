//! Objects that set pipelines, and objects that show them.

use airside_store::Pausing;
use serde_json::json;

use crate::stage::{Stage, condition, config, object};

#[tokio::test(flavor = "multi_thread")]
async fn an_object_sets_a_pipeline_and_a_mistake_changes_nothing() {
    let stage = Stage::start("").await;
    let set = stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    assert!(!set.paused);
    let status = stage.cluster.get("pipelines", "app").unwrap()["status"].clone();
    assert_eq!(status["setBy"], "Object");
    assert_eq!(status["jobs"], 1);
    assert_eq!(
        status["url"],
        "https://ci.example.com/teams/main/pipelines/app"
    );

    let wrong = json!({"jobs": [
        {"name": "a", "plan": [{"get": "none"}]}, {"name": "a", "plan": [{"get": "other"}]},
    ]});
    stage
        .cluster
        .edit("pipelines", "app", &json!({ "config": wrong }));
    stage.until_condition("app", "Stalled", "True").await;
    let ready = condition(&stage.cluster.get("pipelines", "app").unwrap(), "Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("Invalid"))
    );
    let words = ready["message"].as_str().unwrap();
    for part in ["jobs[0] and jobs[1] have the same name", "none", "other"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let head = stage
        .store
        .pipeline_head(stage.team.id, "app", &Default::default())
        .await;
    let before = head.unwrap().unwrap().config_version;
    assert_eq!(
        status["configVersion"], before,
        "the old configuration goes on"
    );

    stage
        .cluster
        .edit("pipelines", "app", &json!({"config": config("echo new")}));
    stage.until_condition("app", "Ready", "True").await;
    let head = stage
        .store
        .pipeline_head(stage.team.id, "app", &Default::default())
        .await;
    assert!(head.unwrap().unwrap().config_version > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_younger_of_two_objects_waits_for_the_older() {
    let stage = Stage::start("").await;
    stage
        .pipeline("app", &json!({"config": config("true")}))
        .await;
    let younger = json!({"pipeline": "app", "config": config("false")});
    stage
        .cluster
        .create("pipelines", object("younger", &younger));
    stage.until_condition("younger", "Stalled", "True").await;
    let ready = condition(&stage.cluster.get("pipelines", "younger").unwrap(), "Ready");
    assert_eq!(ready["reason"], "Duplicate");
    stage.cluster.delete("pipelines", "app");
    stage.until_condition("younger", "Ready", "True").await;
    let id = stage.find("app").await.unwrap().id;
    let owner = stage.store.pipeline_object(id).await.unwrap().unwrap();
    assert_eq!(owner.name, "younger");
    assert!(!stage.find("app").await.unwrap().archived);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fly_set_is_shown_comes_back_and_is_adopted() {
    let stage = Stage::start("").await;
    stage.fly("app", &config("true")).await.unwrap();
    stage.until_condition("app", "Ready", "True").await;
    let shown = stage.cluster.get("pipelines", "app").unwrap();
    assert_eq!(shown["status"]["setBy"], "Server");
    assert_eq!(
        shown["spec"]["config"],
        json!(null),
        "a configuration may hold secrets"
    );
    stage.cluster.delete("pipelines", "app");
    stage
        .until("it comes back", async || {
            stage.cluster.get("pipelines", "app").is_some()
        })
        .await;

    stage
        .cluster
        .edit("pipelines", "app", &json!({"config": config("false")}));
    stage
        .until("the object decides", async || {
            stage.cluster.get("pipelines", "app").unwrap()["status"]["setBy"] == "Object"
        })
        .await;
    let events = stage.cluster.requests("POST", "/events");
    assert!(
        events.iter().any(|event| event.body["reason"] == "Adopted"),
        "{events:?}"
    );
    let refused = stage
        .fly("app", &config("true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("set by pipeline.ci.airside.dev/app in ci-main"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_applied_when_it_changes_and_not_kept_up() {
    let stage = Stage::start("").await;
    let set = stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let pause = Pausing::Pause { by: "local:ann" };
    stage
        .store
        .set_pipeline_paused(set.id, pause)
        .await
        .unwrap();
    // The next generation has the same pause.
    stage
        .cluster
        .edit("pipelines", "app", &json!({"config": config("echo new")}));
    stage.until_condition("app", "Ready", "True").await;
    assert!(stage.find("app").await.unwrap().paused, "people win");
    for paused in [true, false] {
        stage
            .cluster
            .edit("pipelines", "app", &json!({ "paused": paused }));
        stage.until_condition("app", "Ready", "True").await;
        assert_eq!(stage.find("app").await.unwrap().paused, paused);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_objects_get_their_words_and_hold_up_no_other() {
    let stage = Stage::start("").await;
    let mut deep = json!({"task": "t", "file": "x/y.yml"});
    for _ in 0..60 {
        deep = json!({ "try": deep });
    }
    let large = format!("# {}\njobs: []", "x".repeat(1 << 20));
    for (name, spec, reason) in [
        ("lonely", json!({}), "Invalid"),
        (
            "elsewhere",
            json!({"pipeline": "../b", "config": config("true")}),
            "Invalid",
        ),
        (
            "vars",
            json!({"text": "jobs: [{name: ((a)), plan: [{task: t, file: ((b))}]}]", "vars": {"a": [1]}}),
            "Invalid",
        ),
        ("large", json!({ "text": large }), "TooLarge"),
        ("no-yaml", json!({"text": "jobs: [\u{7}"}), "Invalid"),
        (
            "deep",
            json!({"config": {"jobs": [{"name": "j", "plan": [deep]}]}}),
            "Invalid",
        ),
    ] {
        stage.cluster.create("pipelines", object(name, &spec));
        stage.until_condition(name, "Ready", "False").await;
        let ready = condition(&stage.cluster.get("pipelines", name).unwrap(), "Ready");
        assert_eq!(ready["reason"], reason, "{name}: {ready}");
        let words = ready["message"].as_str().unwrap();
        assert!(
            !words.is_empty() && words.chars().count() <= 1000,
            "{name}: {words}"
        );
    }
    stage
        .pipeline("app", &json!({"config": config("true")}))
        .await;
    let all = stage.store.pipelines(None).await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
}
