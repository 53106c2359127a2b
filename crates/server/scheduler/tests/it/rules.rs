//! Each rule once, from what is told to what runs. The rules themselves have their tables in the
//! scheduler.

use std::time::{Duration, Instant};

use airside_model::BuildStatus;
use airside_scheduler::Spacing;
use airside_store::{Parent, Pausing, PinOutcome};

use crate::stage::{Stage, v};

const TRIGGERED: &str = "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: r, trigger: true}]}
";

#[tokio::test]
async fn a_new_version_starts_a_build_with_it_and_an_old_one_does_not() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    stage.found("r", &[1]).await;
    stage.nothing_runs().await;
    stage.found("r", &[2, 3]).await;
    assert_eq!(stage.run_next().await, "a #2 r=3");
    stage.nothing_runs().await;
}

#[tokio::test]
async fn without_a_trigger_a_new_version_is_only_noted() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: r}]}
",
    )
    .await;
    stage.found("r", &[1]).await;
    stage.nothing_runs().await;
    let job = stage.job("a").await;
    let store = &stage.store;
    stage
        .until("the next inputs are known", || async {
            store.next_versions(job).await.unwrap().is_some()
        })
        .await;
    assert!(store.job_by_id(job).await.unwrap().unwrap().has_new_inputs);
    assert_eq!(stage.builds().await, [""; 0]);
}

#[tokio::test]
async fn a_build_started_by_hand_waits_for_checks_that_end_after_it() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}, {name: s, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: r}, {get: s}]}
",
    )
    .await;
    stage.found("r", &[1]).await;
    stage.found("s", &[1]).await;
    stage.settled().await;
    let build = stage.trigger("a").await;
    let asked = stage.asked.recv().await.unwrap();
    assert_eq!(asked.len(), 2);
    let prepared = stage
        .scheduler
        .preparation(build.id)
        .await
        .unwrap()
        .unwrap();
    let checking = Some("checking for latest available versions".to_owned());
    assert_eq!(
        prepared.inputs,
        [("r".into(), checking.clone()), ("s".into(), checking)]
    );
    stage.found("r", &[2]).await;
    stage.store.check_ended(stage.resource("r").await, None);
    stage.nothing_runs().await;
    stage.store.check_ended(stage.resource("s").await, None);
    assert_eq!(stage.run_next().await, "a #1 r=2 s=1");
    // A job without inputs waits for nothing.
    assert_eq!(stage.scheduler.preparation(build.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_build_says_why_it_has_no_inputs() {
    let mut stage = Stage::new(TRIGGERED).await;
    let build = stage.trigger("a").await;
    let asked = stage.asked.recv().await.unwrap();
    stage.store.check_ended(asked[0], None);
    stage.nothing_runs().await;
    let prepared = stage
        .scheduler
        .preparation(build.id)
        .await
        .unwrap()
        .unwrap();
    let reason = Some("latest version of resource not found".to_owned());
    assert_eq!(prepared.inputs, [("r".into(), reason)]);
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
}

#[tokio::test]
async fn serial_jobs_run_one_build_at_a_time() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, serial: true, plan: [{get: r, trigger: true}]}
",
    )
    .await;
    stage.found("r", &[1]).await;
    let first = stage.next().await;
    stage.found("r", &[2]).await;
    stage.nothing_runs().await;
    stage.found("r", &[3]).await;
    stage.nothing_runs().await;
    stage.finish(&first, BuildStatus::Failed).await;
    assert_eq!(stage.run_next().await, "a #2 r=3");
}

#[tokio::test]
async fn a_build_without_inputs_holds_up_nobody_in_its_serial_group() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}, {name: none, type: mock, source: {}}]
jobs:
- {name: a, serial_groups: [g], plan: [{get: none}]}
- {name: b, serial_groups: [g], plan: [{get: r, trigger: true}]}
",
    )
    .await;
    stage.trigger("a").await;
    let asked = stage.asked.recv().await.unwrap();
    stage.store.check_ended(asked[0], None);
    stage.settled().await;
    stage.found("r", &[1]).await;
    let second = stage.next().await;
    assert_eq!(second.shown, "b #1 r=1");
    stage.found("none", &[1]).await;
    stage.nothing_runs().await;
    stage.succeed(&second).await;
    assert_eq!(stage.run_next().await, "a #1 none=1");
}

#[tokio::test]
async fn every_version_gets_its_build() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: r, trigger: true, version: every}]}
",
    )
    .await;
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    stage.found("r", &[2, 3, 4]).await;
    for number in 2..=4 {
        assert_eq!(stage.run_next().await, format!("a #{number} r={number}"));
    }
    stage.nothing_runs().await;
}

#[tokio::test]
async fn pins_and_disabled_versions_are_heeded_at_once() {
    let mut stage = Stage::new(TRIGGERED).await;
    let resource = stage.resource("r").await;
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    let pin = stage.version("r", 1).await;
    let pinned = stage.store.pin_version(resource, pin).await;
    assert_eq!(pinned.unwrap(), PinOutcome::Changed);
    stage.found("r", &[2, 3]).await;
    stage.nothing_runs().await;
    // A build by hand gets the pinned version, and needs no check for it.
    stage.trigger("a").await;
    assert_eq!(stage.run_next().await, "a #2 r=1");
    let newest = stage.version("r", 3).await;
    stage
        .store
        .enable_version(resource, newest, false)
        .await
        .unwrap();
    let unpinned = stage.store.unpin(resource).await;
    assert_eq!(unpinned.unwrap(), PinOutcome::Changed);
    assert_eq!(stage.run_next().await, "a #3 r=2");
    stage
        .store
        .enable_version(resource, newest, true)
        .await
        .unwrap();
    assert_eq!(stage.run_next().await, "a #4 r=3");
}

#[tokio::test]
async fn reruns_have_the_inputs_of_their_original() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.found("r", &[1]).await;
    let first = stage.next().await;
    stage.succeed(&first).await;
    stage.found("r", &[2]).await;
    assert_eq!(stage.run_next().await, "a #2 r=2");
    let rerun = stage.store.create_rerun(&first.build, "me").await.unwrap();
    assert_eq!(stage.run_next().await, "a #1.1 r=1");
    stage.store.create_rerun(&rerun, "me").await.unwrap();
    assert_eq!(stage.run_next().await, "a #1.2 r=1");
    stage.nothing_runs().await;
    // The version is gone: the rerun says so, until it is aborted.
    stage
        .store
        .clear_versions(stage.resource("r").await)
        .await
        .unwrap();
    let late = stage.store.create_rerun(&first.build, "me").await.unwrap();
    stage.nothing_runs().await;
    let prepared = stage.scheduler.preparation(late.id).await.unwrap().unwrap();
    let reason = Some("chosen version of input r not available".to_owned());
    assert_eq!(prepared.inputs, [("r".into(), reason)]);
    stage.store.request_abort(late.id).await.unwrap();
    let ended = stage.next().await;
    stage.finish(&ended, BuildStatus::Aborted).await;
    stage.found("r", &[3]).await;
    assert_eq!(stage.run_next().await, "a #3 r=3");
}

#[tokio::test]
async fn what_is_paused_waits_and_goes_on() {
    let mut stage = Stage::new(TRIGGERED).await;
    let (job, pipeline) = (stage.job("a").await, stage.pipeline);
    let pause = Pausing::Pause { by: "me" };
    stage.store.set_job_paused(job, pause).await.unwrap();
    stage.found("r", &[1]).await;
    stage.nothing_runs().await;
    stage
        .store
        .set_job_paused(job, Pausing::Resume)
        .await
        .unwrap();
    assert_eq!(stage.run_next().await, "a #1 r=1");
    stage
        .store
        .set_pipeline_paused(pipeline, pause)
        .await
        .unwrap();
    let build = stage.trigger("a").await;
    stage.nothing_runs().await;
    let prepared = stage
        .scheduler
        .preparation(build.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(prepared.preparation.paused_pipeline.as_str(), "blocking");
    stage
        .store
        .set_pipeline_paused(pipeline, Pausing::Resume)
        .await
        .unwrap();
    let asked = stage.asked.recv().await.unwrap();
    stage.store.check_ended(asked[0], None);
    assert_eq!(stage.run_next().await, "a #2 r=1");
}

#[tokio::test]
async fn a_build_that_waits_can_be_aborted() {
    let mut stage = Stage::new(TRIGGERED).await;
    let build = stage.trigger("a").await;
    stage.asked.recv().await.unwrap();
    stage.store.request_abort(build.id).await.unwrap();
    let ended = stage.next().await;
    assert!(ended.build.aborted && !ended.build.inputs_ready);
}

#[tokio::test]
async fn what_waits_in_an_archived_pipeline_or_a_removed_job_is_aborted() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.trigger("a").await;
    stage.asked.recv().await.unwrap();
    stage
        .set("jobs: [{name: other, plan: [{task: t, file: f}]}]")
        .await;
    let ended = stage.next().await;
    assert!(ended.build.aborted);
    stage.finish(&ended, BuildStatus::Aborted).await;
    stage.set(TRIGGERED).await;
    stage.trigger("a").await;
    stage.asked.recv().await.unwrap();
    stage.store.archive_pipeline(stage.pipeline).await.unwrap();
    assert!(stage.next().await.build.aborted);
}

#[tokio::test]
async fn a_renamed_job_and_resource_go_on_where_they_were() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    stage
        .set(
            "
resources: [{name: s, old_name: r, type: mock, source: {}}]
jobs:
- {name: b, old_name: a, plan: [{get: r, resource: s, trigger: true}]}
",
        )
        .await;
    stage.nothing_runs().await;
    stage.found("s", &[2]).await;
    assert_eq!(stage.run_next().await, "b #2 r=2");
}

#[tokio::test]
async fn another_source_counts_from_its_first_check_and_old_versions_start_nothing() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    stage
        .set(&TRIGGERED.replace("source: {}", "source: {uri: x}"))
        .await;
    stage.nothing_runs().await;
    stage.found("r", &[1]).await;
    stage.nothing_runs().await;
    stage.found("r", &[2]).await;
    assert_eq!(stage.run_next().await, "a #2 r=2");
}

#[tokio::test]
async fn pipelines_that_a_build_no_longer_sets_are_archived() {
    let mut stage = Stage::new(TRIGGERED).await;
    stage.found("r", &[1]).await;
    let first = stage.next().await;
    let child = airside_store::SavePipeline {
        team: stage.team,
        name: "child".into(),
        instance_vars: Default::default(),
        config: serde_json::json!({}),
        jobs: Vec::new(),
        resources: Vec::new(),
        expected_version: None,
    };
    let parent = Parent {
        job: stage.job("a").await,
        build: first.build.id,
    };
    let child = stage
        .store
        .save_child_pipeline(child, parent)
        .await
        .unwrap();
    stage.succeed(&first).await;
    stage.nothing_runs().await;
    let store = &stage.store;
    let is_archived = || async {
        let child = store.pipeline_by_id(child.pipeline.id).await.unwrap();
        child.unwrap().archived
    };
    assert!(!is_archived().await);
    stage.found("r", &[2]).await;
    assert_eq!(stage.run_next().await, "a #2 r=2");
    let store = &stage.store;
    stage
        .until("the child is archived", || async {
            let child = store.pipeline_by_id(child.pipeline.id).await.unwrap();
            child.unwrap().archived
        })
        .await;
}

#[tokio::test]
async fn a_pipeline_that_cannot_be_read_holds_up_no_other() {
    let mut stage = Stage::new(TRIGGERED).await;
    let broken = airside_store::SavePipeline {
        team: stage.team,
        name: "broken".into(),
        instance_vars: Default::default(),
        config: serde_json::json!({"jobs": [{"name": 1}]}),
        jobs: Vec::new(),
        resources: Vec::new(),
        expected_version: None,
    };
    stage.store.save_pipeline(broken).await.unwrap();
    stage.found("r", &[1]).await;
    assert_eq!(stage.run_next().await, "a #1 r=1");
    let inputs = stage
        .store
        .builds_with_input(stage.version("r", 1).await, 10)
        .await;
    assert_eq!(inputs.unwrap().len(), 1);
    assert_eq!(v(1).0.len(), 1);
}

#[tokio::test]
async fn builds_of_a_job_start_as_far_apart_as_their_team_is_told() {
    let text = "
jobs:
- {name: a, plan: [{task: t, config: {platform: linux, run: {path: x}}}]}
- {name: b, plan: [{task: t, config: {platform: linux, run: {path: x}}}]}
";
    let apart = Duration::from_millis(400);
    let spacing = Spacing {
        everybody: Duration::ZERO,
        teams: [("main".to_owned(), apart)].into(),
    };
    let mut stage = Stage::spaced(spacing, text).await;
    // Nothing starts before all are there and the clock runs.
    let pause = Pausing::Pause { by: "me" };
    let pipeline = stage.pipeline;
    let paused = stage.store.set_pipeline_paused(pipeline, pause);
    paused.await.unwrap();
    for job in ["a", "a", "b"] {
        stage.trigger(job).await;
    }
    let begun = Instant::now();
    let resumed = stage.store.set_pipeline_paused(pipeline, Pausing::Resume);
    resumed.await.unwrap();
    let mut first = [stage.run_next().await, stage.run_next().await];
    first.sort();
    assert_eq!(first, ["a #1", "b #1"]);
    assert_eq!(stage.run_next().await, "a #2");
    assert!(begun.elapsed() >= apart, "{:?}", begun.elapsed());
}
