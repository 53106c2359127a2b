use std::time::Duration;

use airside_model::{
    BuildStatus, Plan, PlanId, PlanNode, ResourceId, SaveJob, SaveResource, WorkerName,
};
use serde_json::json;

use super::*;
use crate::{
    CheckReason, InstanceVars, LastCheck, Lease, NewBuild, NewCheck, NextInputs, OneOff, Pausing,
    SavePipeline, VersionScope, WorkerKind, testing::TestDatabase,
};

crate::on_both_databases!(
    pages_hear_of_each_change_of_a_build,
    pages_hear_of_checks,
    pages_hear_of_pipelines_jobs_and_resources,
    pages_hear_of_teams_workers_and_the_wall,
    a_listener_that_is_too_slow_learns_that_it_missed_some,
);

struct Stage {
    store: Store,
    team: airside_model::TeamId,
    pipeline: PipelineId,
    job: JobId,
    resource: ResourceId,
    _database: TestDatabase,
}

fn save(team: airside_model::TeamId) -> SavePipeline {
    SavePipeline {
        team,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("j")],
        resources: vec![SaveResource::named("r", "mock")],
        expected_version: None,
    }
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let pipeline = store.save_pipeline(save(team)).await.unwrap().pipeline.id;
    Stage {
        team,
        pipeline,
        job: store.jobs(pipeline).await.unwrap()[0].id,
        resource: store.resources(pipeline).await.unwrap()[0].id,
        store,
        _database: database,
    }
}

fn plan() -> Plan {
    Plan::new(PlanId::new("1"), PlanNode::Check(Default::default()))
}

impl Stage {
    async fn take(&self, build: BuildId) -> Lease {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "t", "t", minute).await;
        taken.unwrap().unwrap()
    }

    async fn create(&self) -> BuildId {
        let (job, created_by) = (self.job, None);
        let made = self.store.create_build(NewBuild { job, created_by }).await;
        made.unwrap().id
    }
}

fn heard(changes: &mut ShownChanges) -> Vec<ShownChange> {
    std::iter::from_fn(|| changes.waiting().map(Result::unwrap)).collect()
}

fn acted_on(news: &mut Newsstand) -> Vec<News> {
    std::iter::from_fn(|| news.waiting().map(Result::unwrap)).collect()
}

async fn pages_hear_of_each_change_of_a_build(database: TestDatabase) {
    use ShownChange::{BuildChanged, BuildCreated, BuildEnded, BuildStarted, StepChanged};
    let stage = stage(database).await;
    let store = &stage.store;
    let mut changes = store.shown_changes();
    let build = stage.create().await;
    let lease = stage.take(build).await;
    let job = Some(stage.job);
    assert_eq!(heard(&mut changes), [BuildCreated { build, job }]);

    store.give_inputs(build, &[], &[]).await.unwrap();
    store.start_build(&lease, &plan()).await.unwrap();
    let node = PlanId::new("1");
    store.begin_node(&lease, &node, None::<()>).await.unwrap();
    let mut news = store.news();
    let outcome = store.save_outcome(&lease, &node, &true, None::<&()>, now());
    outcome.await.unwrap();
    store.set_build_comment(build, "flaky").await.unwrap();
    assert_eq!(acted_on(&mut news), [], "no part acts on these");
    store.request_abort(build).await.unwrap();
    let aborted = BuildStatus::Aborted;
    store.finish_build(&lease, aborted).await.unwrap();
    let expected = [
        BuildChanged(build),
        BuildStarted { build, job },
        StepChanged(build),
        StepChanged(build),
        BuildChanged(build),
        BuildChanged(build),
        BuildEnded { build, job },
    ];
    assert_eq!(heard(&mut changes), expected);

    let one_off = OneOff {
        team: stage.team,
        pipeline: None,
        created_by: None,
        plan: &plan(),
    };
    let build = store.create_one_off(one_off).await.unwrap().id;
    let lease = stage.take(build).await;
    store.finish_build(&lease, aborted).await.unwrap();
    let job = None;
    let expected = [BuildCreated { build, job }, BuildEnded { build, job }];
    assert_eq!(heard(&mut changes), expected);

    let home = crate::BuildHome {
        build,
        team: stage.team,
        pipeline: None,
        public: false,
        listed: true,
    };
    let homes = store.build_homes(&[build, BuildId(999)]).await.unwrap();
    assert_eq!(homes, [home]);
}

async fn pages_hear_of_checks(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let mut changes = store.shown_changes();
    let new = NewCheck {
        team: stage.team,
        pipeline: stage.pipeline,
        resource: Some(stage.resource),
        plan: &plan(),
        reason: CheckReason::Due,
    };
    let build = store.create_check(new).await.unwrap().id;
    let lease = stage.take(build).await;
    let last = LastCheck {
        scope: VersionScope(0),
        started_at: Micros(1),
        ended_at: Micros(2),
        failures: 1,
    };
    store.note_check(stage.resource, last, None).await.unwrap();
    let failed = BuildStatus::Failed;
    store.finish_build(&lease, failed).await.unwrap();
    let (pipeline, resource) = (stage.pipeline, stage.resource);
    let began = ShownChange::CheckBegan {
        build,
        pipeline,
        resource: Some(resource),
    };
    let ok = false;
    let ended = ShownChange::CheckEnded { resource, ok };
    let shown = ShownChange::CheckShown {
        build,
        pipeline,
        resource: Some(resource),
        ok,
    };
    assert_eq!(heard(&mut changes), [began, ended, shown]);
}

async fn pages_hear_of_pipelines_jobs_and_resources(database: TestDatabase) {
    use ShownChange::{
        JobChanged, NextInputsChanged, PipelineChanged, PipelineGone, PipelineSet, PipelinesOrdered,
    };
    let stage = stage(database).await;
    let (store, id) = (&stage.store, stage.pipeline);
    let mut changes = store.shown_changes();
    let by = Pausing::Pause { by: "ann" };
    store.set_pipeline_paused(id, by).await.unwrap();
    store.set_pipeline_public(id, true).await.unwrap();
    store.set_job_paused(stage.job, by).await.unwrap();
    store.rename_pipelines(stage.team, "p", "q").await.unwrap();
    let names = ["q".to_owned()];
    store.order_pipelines(stage.team, &names).await.unwrap();
    let none = NextInputs::default();
    store.save_next_inputs(stage.job, &none).await.unwrap();
    let expected = [
        PipelineChanged(id),
        PipelineChanged(id),
        JobChanged(stage.job),
        PipelineChanged(id),
        PipelinesOrdered(stage.team),
        NextInputsChanged(stage.job),
    ];
    assert_eq!(heard(&mut changes), expected);

    // No pin, so no comment of it.
    assert!(!store.set_pin_comment(stage.resource, "x").await.unwrap());
    store.clear_versions(stage.resource).await.unwrap();
    store.archive_pipeline(id).await.unwrap();
    let again = SavePipeline {
        name: "q".into(),
        ..save(stage.team)
    };
    store.save_pipeline(again).await.unwrap();
    store.destroy_pipeline(id).await.unwrap();
    let expected = [
        ShownChange::VersionsChanged(stage.resource),
        PipelineChanged(id),
        PipelineSet(id),
        PipelineGone(id),
    ];
    assert_eq!(heard(&mut changes), expected);
}

async fn pages_hear_of_teams_workers_and_the_wall(database: TestDatabase) {
    use ShownChange::{TeamChanged, WallChanged, WorkersChanged};
    let stage = stage(database).await;
    let store = &stage.store;
    let (mut changes, mut news) = (store.shown_changes(), store.news());
    let (team, _) = store.save_team("t", &json!({})).await.unwrap();
    store.rename_team(team.id, "u").await.unwrap();
    store.destroy_team(team.id).await.unwrap();
    let worker = WorkerName("w".to_owned());
    let kind = WorkerKind::Local;
    store
        .register_worker(&worker, None, &[], kind)
        .await
        .unwrap();
    store.set_wall("hi", None).await.unwrap();
    store.clear_wall().await.unwrap();
    let of_team = TeamChanged(team.id);
    let expected = [
        of_team,
        of_team,
        of_team,
        WorkersChanged,
        WallChanged,
        WallChanged,
    ];
    assert_eq!(heard(&mut changes), expected);
    assert_eq!(acted_on(&mut news), []);
}

async fn a_listener_that_is_too_slow_learns_that_it_missed_some(database: TestDatabase) {
    let store = database.open().await;
    let mut changes = store.shown_changes();
    for _ in 0..=BACKLOG {
        store.show_quietly(ShownChange::WallChanged);
    }
    assert_eq!(changes.next().await, Err(Missed));
    assert_eq!(changes.next().await, Ok(ShownChange::WallChanged));
}
