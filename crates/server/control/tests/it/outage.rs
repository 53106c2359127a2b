//! A cluster that is away is nothing to builds, and is brought in line once it is back.

use std::time::Duration;

use airside_model::BuildStatus;
use serde_json::json;

use crate::{
    cluster::Mood,
    stage::{Stage, config, request},
};

#[tokio::test(flavor = "multi_thread")]
async fn builds_go_on_and_objects_follow_once_the_cluster_is_back() {
    let stage = Stage::start("").await;
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let job = stage.job("app", "j").await;
    for outage in 1..=3 {
        stage.cluster.set_mood(Mood::Away);
        let mut newest = None;
        for _ in 0..10 {
            let build = stage.trigger(job).await;
            let short = Duration::from_secs(5);
            let ended = stage.finish(build, BuildStatus::Succeeded);
            tokio::time::timeout(short, ended)
                .await
                .expect("no build waits for a cluster");
            newest = Some(build);
        }
        // A person asks in the first moment of its return.
        stage.cluster.set_mood(Mood::Well);
        let asked = stage.cluster.create("pipelinebuilds", request("app", "j"));
        let name = stage
            .store
            .build(newest.unwrap())
            .await
            .unwrap()
            .unwrap()
            .name;
        stage
            .until("the newest build is shown", async || {
                let object = stage
                    .cluster
                    .get("pipelinebuilds", &format!("app-j-{name}"));
                object.unwrap_or_default()["status"]["phase"] == "succeeded"
            })
            .await;
        stage
            .until("the person's build is there", async || {
                let object = stage
                    .cluster
                    .get("pipelinebuilds", &asked)
                    .unwrap_or_default();
                object["status"]["phase"] == "pending"
            })
            .await;
        let builds = stage.store.newest_builds(job, 1000, 1000).await.unwrap();
        assert_eq!(builds.len(), outage * 11);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_watch_costs_no_write() {
    let stage = Stage::start("").await;
    stage.fly("app", &config("true")).await.unwrap();
    stage.until_condition("app", "Ready", "True").await;
    stage.until_quiet().await;
    stage.cluster.forget_requests();
    for _ in 0..3 {
        stage.cluster.set_mood(Mood::Away);
        stage.cluster.set_mood(Mood::Well);
        stage.until_quiet().await;
    }
    assert_eq!(
        stage.cluster.writes("pipelines") + stage.cluster.writes("pipelinejobs"),
        0
    );
    stage
        .cluster
        .edit("pipelines", "app", &json!({"config": config("false")}));
    stage
        .until("the object decides", async || {
            stage.cluster.get("pipelines", "app").unwrap()["status"]["setBy"] == "Object"
        })
        .await;
}
