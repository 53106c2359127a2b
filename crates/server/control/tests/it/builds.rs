//! Objects that ask for builds, and objects that show them.

use std::collections::BTreeSet;

use airside_model::BuildStatus;
use serde_json::{Value, json};

use crate::stage::{Stage, condition, config, request};

const BUILDS: &str = "pipelinebuilds";

async fn with_pipeline(settings: &str) -> Stage {
    let stage = Stage::start(settings).await;
    stage
        .pipeline("app", &json!({"config": config("true"), "paused": false}))
        .await;
    stage
}

impl Stage {
    fn build(&self, name: &str) -> Value {
        self.cluster.get(BUILDS, name).unwrap_or_default()
    }

    async fn until_phase(&self, name: &str, phase: &str) {
        let what = format!("{name} is {phase}");
        self.until(&what, async || self.build(name)["status"]["phase"] == phase)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_gets_one_build_however_often_the_server_dies() {
    const OBJECTS: usize = 60;
    let mut stage = with_pipeline("    builds_kept: 1000\n").await;
    let job = stage.job("app", "j").await;
    let mut names = Vec::new();
    for round in 0..20 {
        for _ in 0..OBJECTS / 20 {
            names.push(stage.cluster.create(BUILDS, request("app", "j")));
        }
        // Another number of builds was made each time when the server dies.
        let least = round * (OBJECTS / 20) / 2;
        stage
            .until("some builds are there", async || {
                stage
                    .store
                    .newest_builds(job, 1000, 1000)
                    .await
                    .unwrap()
                    .len()
                    >= least
            })
            .await;
        stage.kill().await;
        stage.run().await;
    }
    stage
        .until("all have their build", async || {
            names.iter().all(|name| {
                stage.build(name)["status"]["id"].is_number()
                    || stage.build(name)["status"]["phase"] == "pending"
            })
        })
        .await;
    let builds = stage.store.newest_builds(job, 1000, 1000).await.unwrap();
    assert_eq!(builds.len(), OBJECTS);
    let ids: BTreeSet<i64> = names
        .iter()
        .map(|name| stage.build(name)["status"]["id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids.len(), OBJECTS, "no two objects share a build");
    for build in builds {
        stage.finish(build.id, BuildStatus::Succeeded).await;
    }
    stage
        .until("all are complete", async || {
            let complete =
                |name: &String| condition(&stage.build(name), "Complete")["status"] == "True";
            names.iter().all(complete)
        })
        .await;
    stage.until_quiet().await;
    assert_eq!(
        stage.cluster.list(BUILDS).len(),
        OBJECTS,
        "none is shown twice"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_is_aborted_by_its_object_and_by_no_deletion() {
    let stage = with_pipeline("").await;
    let asked = stage.cluster.create(BUILDS, request("app", "j"));
    stage.until_phase(&asked, "pending").await;
    stage.cluster.edit(BUILDS, &asked, &json!({"abort": true}));
    stage.until_phase(&asked, "aborted").await;
    let succeeded = condition(&stage.build(&asked), "Succeeded");
    assert_eq!(succeeded["status"], "False");

    let job = stage.job("app", "j").await;
    let build = stage.trigger(job).await;
    stage.begin(build).await;
    stage.until_phase("app-j-2", "started").await;
    let before = stage.build("app-j-2")["metadata"]["uid"].clone();
    stage.cluster.delete(BUILDS, "app-j-2");
    stage
        .until("the object of a build that runs comes back", async || {
            let object = stage.build("app-j-2");
            object["status"]["phase"] == "started" && object["metadata"]["uid"] != before
        })
        .await;
    let row = stage.store.build(build).await.unwrap().unwrap();
    assert_eq!(row.status, BuildStatus::Started);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_built_is_refused_with_words() {
    let stage = with_pipeline("").await;
    let long_ago = |mut object: Value| {
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        object
    };
    let mut aborted = request("app", "j");
    aborted["spec"]["abort"] = json!(true);
    let mut again = request("app", "j");
    again["spec"]["rerunOf"] = json!("77");
    for (object, reason, words) in [
        (
            long_ago(request("app", "none")),
            "NotFound",
            "there is no job none",
        ),
        (
            long_ago(request("../app", "j")),
            "NotFound",
            "there is no job j in a pipeline ../app",
        ),
        (aborted, "Aborted", "abort: true"),
        (again, "NotFound", "job j has no build 77"),
    ] {
        let name = stage.cluster.create(BUILDS, object);
        stage
            .until(words, async || {
                condition(&stage.build(&name), "Complete")["status"] == "True"
            })
            .await;
        let succeeded = condition(&stage.build(&name), "Succeeded");
        assert_eq!(
            (&succeeded["status"], &succeeded["reason"]),
            (&json!("False"), &json!(reason))
        );
        let message = succeeded["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
    let job = stage.job("app", "j").await;
    assert!(
        stage
            .store
            .newest_builds(job, 10, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_creators_are_believed_only_where_the_cluster_writes_them() {
    for (policy, expected) in [
        (None, "kubernetes:ci-main"),
        (Some("ann"), "kubernetes:ann"),
    ] {
        let stage = with_pipeline("").await;
        stage
            .cluster
            .with(|world| world.creator = policy.map(str::to_owned));
        let mut forged = request("app", "j");
        forged["metadata"]["annotations"] = json!({"ci.airside.dev/creator": "admin"});
        let name = stage.cluster.create(BUILDS, forged);
        stage.until_phase(&name, "pending").await;
        assert_eq!(stage.build(&name)["status"]["createdBy"], expected);
    }
}
