//! The mirror keeps to its budget of requests, whatever happens.

use airside_model::BuildStatus;
use serde_json::json;

use crate::stage::{Stage, config};

const WRITERS: [&str; 3] = ["pipelines", "pipelinejobs", "pipelinebuilds"];

#[tokio::test(flavor = "multi_thread")]
async fn a_build_costs_four_writes_and_two_of_its_job() {
    const BUILDS: usize = 12;
    let stage = Stage::start("").await;
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let job = stage.job("app", "j").await;
    stage.until_quiet().await;
    stage.cluster.forget_requests();
    for number in 1..=BUILDS {
        let build = stage.trigger(job).await;
        stage.begin(build).await;
        let name = format!("app-j-{number}");
        let phase = async |phase: &str| {
            let what = format!("{name} is {phase}");
            stage
                .until(&what, async || {
                    let object = stage
                        .cluster
                        .get("pipelinebuilds", &name)
                        .unwrap_or_default();
                    object["status"]["phase"] == phase
                })
                .await;
        };
        phase("started").await;
        stage.finish(build, BuildStatus::Succeeded).await;
        phase("succeeded").await;
    }
    stage.until_quiet().await;
    let [pipelines, jobs, builds] = WRITERS.map(|kind| stage.cluster.writes(kind));
    // Five objects are kept, and so not deleted yet.
    assert!(
        builds <= 4 * BUILDS - 5,
        "{builds} writes for {BUILDS} builds"
    );
    assert!(
        jobs <= 2 * BUILDS,
        "{jobs} writes of the job for {BUILDS} builds"
    );
    assert_eq!(pipelines, 0);
    assert_eq!(stage.cluster.list("pipelinebuilds").len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_of_no_time_costs_two_writes_until_it_is_deleted() {
    const BUILDS: usize = 20;
    let stage = Stage::start("").await;
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let job = stage.job("app", "j").await;
    stage.until_quiet().await;
    stage.cluster.forget_requests();
    for _ in 0..BUILDS {
        let build = stage.trigger(job).await;
        stage.begin(build).await;
        stage.finish(build, BuildStatus::Failed).await;
    }
    stage
        .until("the newest is shown", async || {
            let newest = stage
                .cluster
                .get("pipelinebuilds", "app-j-20")
                .unwrap_or_default();
            newest["status"]["phase"] == "failed"
        })
        .await;
    stage.until_quiet().await;
    let [_, jobs, builds] = WRITERS.map(|kind| stage.cluster.writes(kind));
    assert!(builds <= 3 * BUILDS, "{builds} writes for {BUILDS} builds");
    assert!(
        jobs <= BUILDS,
        "{jobs} writes of the job for {BUILDS} builds"
    );
    assert_eq!(stage.cluster.list("pipelinebuilds").len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_in_sync_writes_nothing() {
    let mut stage = Stage::start("").await;
    for number in 0..20 {
        stage
            .fly(&format!("fly-{number}"), &config("true"))
            .await
            .unwrap();
    }
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let job = stage.job("app", "j").await;
    for _ in 0..3 {
        let build = stage.trigger(job).await;
        stage.finish(build, BuildStatus::Succeeded).await;
    }
    stage
        .until("all is shown", async || {
            let sizes = WRITERS.map(|kind| stage.cluster.list(kind).len());
            sizes == [21, 21, 3]
        })
        .await;
    stage.until_quiet().await;
    stage.kill().await;
    stage.cluster.forget_requests();
    stage.run().await;
    stage
        .until("it is in sync", async || {
            // Each kind is listed and watched, and the loop has looked at all of it.
            stage
                .cluster
                .requests("POST", "/selfsubjectaccessreviews")
                .len()
                > 15
        })
        .await;
    stage.until_quiet().await;
    assert_eq!(WRITERS.map(|kind| stage.cluster.writes(kind)), [0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_never_more_objects_than_the_file_says() {
    let stage = Stage::start("    objects_max: 7\n    builds_kept: 50\n").await;
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    let job = stage.job("app", "j").await;
    for _ in 0..30 {
        let build = stage.trigger(job).await;
        stage.finish(build, BuildStatus::Succeeded).await;
        assert!(stage.cluster.list("pipelinebuilds").len() <= 7);
    }
    stage
        .until("there are seven", async || {
            stage.cluster.list("pipelinebuilds").len() == 7
        })
        .await;
    stage.until_quiet().await;
    assert_eq!(stage.cluster.list("pipelinebuilds").len(), 7);
}
