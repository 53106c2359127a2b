//! The operator's file says which namespace speaks for which team, and nothing else does.

use airside_store::InstanceVars;
use serde_json::json;

use crate::{
    cluster::NAMESPACE,
    stage::{Stage, condition, config, object, request},
};

#[tokio::test(flavor = "multi_thread")]
async fn hostile_objects_touch_no_other_team() {
    let stage = Stage::start("").await;
    let (other, _) = stage.store.save_team("b", &json!({})).await.unwrap();
    let theirs = stage.save_for(other.id, "app").await;
    let before = stage
        .store
        .pipeline_head(other.id, "app", &InstanceVars::default())
        .await
        .unwrap();

    // By names, vars, labels and annotations: each is main's own, or nothing.
    let mut claiming = object(
        "claims",
        &json!({"pipeline": "b/app", "config": config("true")}),
    );
    claiming["metadata"]["labels"] = json!({"airside.dev/team": "b", "ci.airside.dev/team": "b"});
    claiming["metadata"]["annotations"] = json!({"ci.airside.dev/team": "b"});
    stage.cluster.create("pipelines", claiming);
    stage.until_condition("claims", "Ready", "False").await;
    let spec =
        json!({"pipeline": "app", "config": config("echo mine"), "deletionPolicy": "Destroy"});
    stage.cluster.create("pipelines", object("app", &spec));
    stage.until_condition("app", "Ready", "True").await;
    let ours = stage.find("app").await.unwrap();
    assert_ne!(ours.id, theirs);
    stage.cluster.delete("pipelines", "app");
    stage
        .until("ours is destroyed", async || {
            stage.find("app").await.is_none()
        })
        .await;

    // Theirs has a job that ours does not have any more.
    for pipeline in ["app", "b/app", "../b/app"] {
        let mut asked = request(pipeline, "j");
        asked["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let name = stage.cluster.create("pipelinebuilds", asked);
        stage
            .until("the request is refused", async || {
                let object = stage.cluster.get("pipelinebuilds", &name).unwrap();
                condition(&object, "Succeeded")["reason"] == "NotFound"
            })
            .await;
    }
    // A status is not believed, either: it names their build.
    let job = stage.store.job(theirs, "j").await.unwrap().unwrap().id;
    let build = stage.trigger(job).await;
    let name = stage.cluster.create("pipelinebuilds", request("app", "j"));
    let forged = json!({"status": {"id": build.0, "name": "1", "phase": "started"}});
    stage
        .cluster
        .with(|world| world.forge("pipelinebuilds", &name, &forged));
    stage
        .cluster
        .edit("pipelinebuilds", &name, &json!({"abort": true}));
    stage.until_quiet().await;
    let row = stage.store.build(build).await.unwrap().unwrap();
    assert_eq!(
        row.status,
        airside_model::BuildStatus::Pending,
        "nobody aborted it"
    );
    let after = stage
        .store
        .pipeline_head(other.id, "app", &InstanceVars::default())
        .await
        .unwrap();
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_that_leaves_the_file_keeps_its_pipelines_and_its_objects_go() {
    let stage = Stage::start("").await;
    let set = json!({"config": config("true"), "paused": false, "deletionPolicy": "Destroy"});
    stage.pipeline("app", &set).await;
    stage.fly("by-fly", &config("true")).await.unwrap();
    let sizes = || ["pipelines", "pipelinejobs"].map(|kind| stage.cluster.list(kind).len());
    stage
        .until("all is shown", async || sizes() == [2, 2])
        .await;
    stage.until_condition("by-fly", "Ready", "True").await;

    stage.rewrite_control("");
    stage
        .until("our objects are gone", async || sizes() == [1, 0])
        .await;
    assert!(
        stage.cluster.get("pipelines", "app").is_some(),
        "what people made stays"
    );
    stage
        .until("the pipeline goes on, set by the server", async || {
            stage
                .store
                .pipeline_objects("c", NAMESPACE)
                .await
                .unwrap()
                .is_empty()
        })
        .await;
    for name in ["app", "by-fly"] {
        assert!(!stage.find(name).await.unwrap().archived, "{name}");
    }
    stage.fly("app", &config("echo by-fly")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_mistake_changes_nothing() {
    let stage = Stage::start("").await;
    stage
        .pipeline("app", &json!({"config": config("true")}))
        .await;
    stage.rewrite_control("  - team: main\n    namespace: ci-main\n    flie: judge\n");
    stage.rewrite_control("  - team: main\n    namespace: NOT A NAMESPACE\n");
    stage
        .cluster
        .edit("pipelines", "app", &json!({"config": config("echo new")}));
    stage.until_condition("app", "Ready", "True").await;
    let id = stage.find("app").await.unwrap().id;
    assert!(stage.store.pipeline_object(id).await.unwrap().is_some());
    stage.rewrite_control("  - team: main\n    namespace: ci-main\n    fly: refuse\n");
    stage
        .until("the next good file counts", async || {
            stage.fly("other", &config("true")).await.is_err()
        })
        .await;
}
