//! `set_pipeline`: what the step says and does, with and without a cluster that has a word about
//! it.

use std::sync::Arc;

use airside_model::{BuildStatus, JobId, SaveJob, VolumeId};
use airside_setting::{
    FlyMode, JudgeError,
    testing::{ScriptedJudge, pipeline_object},
};
use airside_store::{InstanceVars, PipelineHead, SavePipeline};
use serde_json::{Value, json};

use crate::{
    on_large_stacks,
    plans::{in_order, plan},
    server::{Server, Site},
};

const CHILD: &str = "jobs: [{name: ((job)), plan: [{load_var: v, file: x/y}]}]";

/// A server, and the job whose builds set pipelines.
struct Stage {
    server: Server,
    judge: Arc<ScriptedJudge>,
    job: JobId,
    _site: Site,
}

async fn stage(mode: Option<FlyMode>) -> Stage {
    let site = Site::new();
    let judge = Arc::new(ScriptedJudge::new(mode, Ok(())));
    let server = site.start_judged(judge.clone()).await;
    let save = SavePipeline {
        team: server.team,
        name: "outer".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("setter")],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = server.store.save_pipeline(save).await.unwrap().pipeline.id;
    let job = server.store.jobs(pipeline).await.unwrap()[0].id;
    Stage {
        server,
        judge,
        job,
        _site: site,
    }
}

impl Stage {
    /// Runs a build that sets the pipeline `child` from this text.
    async fn set(&self, text: &str, vars: Value) -> (BuildStatus, String) {
        let server = &self.server;
        let volume = VolumeId::new(format!("upload-{:016x}", next_number()));
        let announced = server.store.announce_artifact(server.team, &volume).await;
        let artifact = announced.unwrap().id.0;
        let receiving = server.volumes.receive(&volume).unwrap();
        std::fs::write(receiving.dir().join("child.yml"), text).unwrap();
        receiving.commit().unwrap();
        let upload = json!({"artifact_id": artifact, "name": "a"});
        let step = json!({"name": "child", "file": "a/child.yml", "vars": vars});
        let steps = in_order(&[
            json!({"id": "upload", "artifact_input": upload}),
            json!({"id": "set", "set_pipeline": step}),
        ]);
        let steps = plan(steps);
        let build = server.engine.trigger_planned(self.job, "ann", &steps);
        server.ended(build.await.unwrap().id).await
    }

    async fn child(&self) -> Option<PipelineHead> {
        let vars = InstanceVars::default();
        let head = self
            .server
            .store
            .pipeline_head(self.server.team, "child", &vars);
        head.await.unwrap()
    }
}

/// A number that no other call returned.
fn next_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn job() -> Value {
    json!({"job": "unit"})
}

#[test]
fn a_pipeline_is_set_and_set_again() {
    on_large_stacks(async {
        let stage = stage(None).await;
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert!(log.contains("setting pipeline: child"), "{log}");
        assert!(log.contains("\"changed\":true"), "{log}");
        let first = stage.child().await.unwrap();
        let parent = stage.server.store.pipeline_parent(first.id).await;
        assert_eq!(parent.unwrap().unwrap().job, stage.job);

        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        assert!(log.contains("no changes to apply."), "{log}");
        assert!(log.contains("\"changed\":false"), "{log}");
        assert_eq!(stage.child().await, Some(first));
        assert!(stage.judge.take_asked().is_empty());
    });
}

#[test]
fn what_is_no_pipeline_fails_with_words() {
    on_large_stacks(async {
        let stage = stage(Some(FlyMode::Judge)).await;
        for (text, words) in [
            ("jobs: [{name: ((job))", "error parsing pipeline:"),
            (
                "jobs: [{name: ((job)), plan: [{get: nothing}]}]",
                "invalid pipeline:",
            ),
        ] {
            let (status, log) = stage.set(text, job()).await;
            assert_eq!(status, BuildStatus::Failed, "{log}");
            assert!(log.contains(words), "{log}");
        }
        assert!(stage.judge.take_asked().is_empty());
        assert_eq!(stage.child().await, None);
    });
}

#[test]
fn a_policy_fails_the_step_in_its_own_words() {
    on_large_stacks(async {
        let stage = stage(Some(FlyMode::Judge)).await;
        let words = "tasks may not be privileged here";
        stage
            .judge
            .answer_with(Err(JudgeError::Refused(words.into())));
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Failed, "{log}");
        assert!(log.contains(words), "{log}");
        assert!(!log.contains("\"changed\""), "{log}");
        assert_eq!(
            stage.judge.take_asked(),
            ["judge main/child of 1 steps by build:main/outer/setter #1"]
        );

        let cluster = "build-cluster".to_owned();
        stage
            .judge
            .answer_with(Err(JudgeError::Unavailable { cluster }));
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Errored, "{log}");
        assert!(log.contains("cluster build-cluster"), "{log}");
        assert_eq!(stage.child().await, None);

        stage.judge.answer_with(Ok(()));
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
    });
}

#[test]
fn what_an_object_sets_is_refused_even_without_a_change() {
    on_large_stacks(async {
        let stage = stage(Some(FlyMode::Store)).await;
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        let head = stage.child().await.unwrap();
        let object = pipeline_object("ci-main", "app");
        let store = &stage.server.store;
        let claimed = store.claim_pipeline(head.id, head.config_version, &object);
        claimed.await.unwrap();
        for name in ["unit", "other"] {
            let (status, log) = stage.set(CHILD, json!({"job": name})).await;
            assert_eq!(status, BuildStatus::Failed, "{log}");
            let words =
                "pipeline child is set by pipeline.ci.airside.dev/app in ci-main; change it there";
            assert!(log.contains(words), "{log}");
        }
    });
}

#[test]
fn a_proxy_applies_the_object_for_the_build() {
    on_large_stacks(async {
        let stage = stage(Some(FlyMode::Proxy)).await;
        let (status, log) = stage.set(CHILD, job()).await;
        assert_eq!(status, BuildStatus::Succeeded, "{log}");
        let by = "build:main/outer/setter #1";
        assert_eq!(
            stage.judge.take_asked(),
            [
                format!("judge main/child of 1 steps by {by}"),
                format!("apply child for {by}")
            ]
        );
        let object = stage.child().await.unwrap().object.unwrap();
        assert_eq!(object, pipeline_object("ci-main", "applied"));
    });
}
