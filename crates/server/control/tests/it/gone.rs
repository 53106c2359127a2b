//! Objects that are gone.

use serde_json::{Value, json};

use crate::{
    cluster::Mood,
    stage::{Stage, config, object},
};

fn spec(policy: &str) -> Value {
    json!({"config": config("true"), "paused": false, "deletionPolicy": policy})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_object_has_its_policy_followed() {
    let stage = Stage::start("").await;
    for (name, policy) in [("a", "Archive"), ("d", "Destroy"), ("k", "Keep")] {
        stage.pipeline(name, &spec(policy)).await;
        stage.cluster.delete("pipelines", name);
    }
    stage
        .until("a is archived", async || {
            stage.find("a").await.unwrap().archived
        })
        .await;
    stage
        .until("d is destroyed", async || stage.find("d").await.is_none())
        .await;
    stage
        .until("k goes on, set by the server", async || {
            stage.cluster.get("pipelines", "k").unwrap_or_default()["status"]["setBy"] == "Server"
        })
        .await;
    assert!(!stage.find("k").await.unwrap().archived);
    stage
        .cluster
        .create("pipelines", object("a", &spec("Archive")));
    stage.until_condition("a", "Ready", "True").await;
    assert!(
        !stage.find("a").await.unwrap().archived,
        "applied again, it is back"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_back_within_the_grace_changes_nothing() {
    let stage = Stage::start("").await;
    let before = stage.pipeline("app", &spec("Destroy")).await.id;
    stage.cluster.delete("pipelines", "app");
    stage
        .cluster
        .create("pipelines", object("app", &spec("Destroy")));
    stage.until_condition("app", "Ready", "True").await;
    stage.until_quiet().await;
    assert_eq!(stage.find("app").await.unwrap().id, before);
}

/// The deletion of a namespace or of the definitions deletes every object, too.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_archived_or_destroyed_with_its_namespace_or_definition() {
    for mood in [Mood::NamespaceGoing, Mood::DefinitionsGone] {
        let stage = Stage::start("").await;
        let kept = stage.pipeline("app", &spec("Destroy")).await.id;
        let archived = stage.pipeline("other", &spec("Archive")).await.id;
        stage.cluster.set_mood(mood);
        stage
            .until("the pipelines are let go", async || {
                let rows = stage.store.pipeline_objects("c", "ci-main").await.unwrap();
                rows.is_empty()
            })
            .await;
        for (name, id) in [("app", kept), ("other", archived)] {
            let found = stage.find(name).await.unwrap();
            assert_eq!(
                (found.id, found.archived, found.paused),
                (id, false, false),
                "{mood:?}"
            );
        }
        stage.cluster.set_mood(Mood::Well);
        stage.until_condition("app", "Ready", "True").await;
        let shown = stage.cluster.get("pipelines", "app").unwrap();
        assert_eq!(shown["status"]["setBy"], "Server", "{mood:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_not_missed_while_the_cluster_is_away() {
    let mut stage = Stage::start("").await;
    let before = stage.pipeline("app", &spec("Destroy")).await.id;
    stage.cluster.set_mood(Mood::Away);
    stage.kill().await;
    stage.run().await;
    stage
        .until("the server has looked for its objects", async || {
            stage.cluster.with(|world| world.unanswered) > 8
        })
        .await;
    assert_eq!(stage.find("app").await.unwrap().id, before);
    stage.cluster.set_mood(Mood::Well);
    stage.until_quiet().await;
    assert_eq!(stage.find("app").await.unwrap().id, before);
}
