use std::time::Duration;

use airside_model::{
    BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, PlanNode, ResourceId, ResourceVersionId,
    Version,
};
use serde_json::json;

use super::*;
use crate::{
    BuildChoice, BuildFilter, BuildPage, Carrying, InstanceVars, NewBuild, SaveJob, SavePipeline,
    SaveResource, testing::TestDatabase,
};

crate::on_both_databases!(
    a_build_gets_its_inputs_once,
    uses_follow_their_version_when_it_moves,
    succeeded_builds_are_walked_in_their_order,
    a_put_saves_its_version_and_a_success_carries_it,
    reruns_are_named_and_ordered_after_their_original,
    a_trigger_creates_one_build_at_a_time,
    the_next_inputs_are_kept_with_their_reasons,
    lists_know_what_was_new_and_where_versions_went,
    pipelines_that_nobody_stands_for_are_found,
);

struct Stage {
    store: Store,
    pipeline: PipelineId,
    resource: ResourceId,
    jobs: Vec<JobId>,
    _database: TestDatabase,
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let save = SavePipeline {
        team,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: ["a", "b"].map(SaveJob::named).to_vec(),
        resources: vec![SaveResource::named("r", "mock")],
        expected_version: None,
    };
    let pipeline = store.save_pipeline(save).await.unwrap().pipeline.id;
    let jobs = store.jobs(pipeline).await.unwrap();
    let resource = store.resource(pipeline, "r").await.unwrap().unwrap();
    Stage {
        pipeline,
        resource: resource.id,
        jobs: jobs.iter().map(|job| job.id).collect(),
        store,
        _database: database,
    }
}

fn v(number: i64) -> Version {
    Version::from([("v", number.to_string())])
}

fn plan() -> Plan {
    Plan {
        id: PlanId::new("1"),
        attempts: Vec::new(),
        node: PlanNode::Do(Vec::new()),
    }
}

impl Stage {
    async fn found(&self, numbers: &[i64]) {
        let from = self.store.check_from(self.resource).await.unwrap().unwrap();
        let versions: Vec<_> = numbers.iter().map(|number| (v(*number), vec![])).collect();
        let saved = self
            .store
            .save_versions(self.resource, &from, &versions)
            .await;
        saved.unwrap();
    }

    async fn id(&self, number: i64) -> ResourceVersionId {
        let found = self
            .store
            .version_containing(self.resource, &v(number))
            .await;
        found.unwrap().unwrap()
    }

    async fn build(&self, job: usize) -> Build {
        let new = NewBuild {
            job: self.jobs[job],
            created_by: None,
        };
        self.store.create_build(new).await.unwrap()
    }

    async fn give(&self, build: &Build, number: i64, pipes: &[BuildId]) -> bool {
        let input = GivenInput {
            name: "in".into(),
            version: self.id(number).await,
            first_occurrence: true,
        };
        let given = self.store.give_inputs(build.id, &[input], pipes).await;
        given.unwrap()
    }

    async fn finish(&self, build: &Build, status: BuildStatus) {
        let lease = self
            .store
            .take_build(build.id, "me", "here", Duration::from_secs(60));
        let lease = lease.await.unwrap().unwrap();
        self.store.start_build(&lease, &plan()).await.unwrap();
        self.store.finish_build(&lease, status).await.unwrap();
    }

    async fn ran(&self, job: usize, number: i64, pipes: &[BuildId]) -> Build {
        let build = self.build(job).await;
        assert!(self.give(&build, number, pipes).await);
        self.finish(&build, BuildStatus::Succeeded).await;
        build
    }
}

async fn a_build_gets_its_inputs_once(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    stage.found(&[1, 2]).await;
    let build = stage.build(0).await;
    let waiting = store.unfinished_of(stage.pipeline).await.unwrap();
    assert!(waiting[0].manual && !waiting[0].runs);
    assert!(
        !store
            .was_used(stage.jobs[0], "in", stage.id(1).await)
            .await
            .unwrap()
    );
    assert!(stage.give(&build, 1, &[]).await);
    assert!(!stage.give(&build, 2, &[]).await, "it has its inputs");
    let inputs = store.build_inputs(build.id).await.unwrap();
    assert_eq!(
        (inputs.len(), &inputs[0].version, inputs[0].is_there),
        (1, &v(1), true)
    );
    assert!(store.unfinished_of(stage.pipeline).await.unwrap()[0].runs);
    assert!(
        store
            .was_used(stage.jobs[0], "in", stage.id(1).await)
            .await
            .unwrap()
    );
    assert!(
        !store
            .was_used(stage.jobs[0], "other", stage.id(1).await)
            .await
            .unwrap()
    );
    assert!(
        !store
            .was_used(stage.jobs[1], "in", stage.id(1).await)
            .await
            .unwrap()
    );
    let shown = store
        .builds_with_input(stage.id(1).await, 10)
        .await
        .unwrap();
    assert_eq!(
        shown.iter().map(|build| build.id).collect::<Vec<_>>(),
        [build.id]
    );

    let aborted = stage.build(0).await;
    store.request_abort(aborted.id).await.unwrap();
    assert!(!stage.give(&aborted, 2, &[]).await);
}

async fn uses_follow_their_version_when_it_moves(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[1]);
    stage.found(&[1, 2, 3]).await;
    assert_eq!(store.last_use(job, stage.resource).await.unwrap(), None);
    let up = stage.ran(0, 1, &[]).await;
    stage.ran(1, 1, &[up.id]).await;
    let other = stage.ran(0, 2, &[]).await;
    stage.ran(1, 2, &[other.id]).await;
    let last = store.last_use(job, stage.resource).await.unwrap().unwrap();
    assert_eq!(last.pipes, [(stage.jobs[0], other.id, other.id)]);
    // The version of before is found again and stands above now.
    stage.found(&[1, 4]).await;
    let place = store.version_place(stage.resource, stage.id(1).await).await;
    let last = store.last_use(job, stage.resource).await.unwrap().unwrap();
    assert_eq!(last.order, place.unwrap().unwrap().order);
    assert_eq!(last.pipes, [(stage.jobs[0], up.id, up.id)]);
    store.clear_versions(stage.resource).await.unwrap();
    assert_eq!(store.last_use(job, stage.resource).await.unwrap(), None);
}

async fn succeeded_builds_are_walked_in_their_order(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    stage.found(&[1, 2]).await;
    let first = stage.ran(0, 1, &[]).await;
    let second = stage.ran(0, 2, &[]).await;
    let failed = stage.build(0).await;
    stage.give(&failed, 2, &[]).await;
    stage.finish(&failed, BuildStatus::Failed).await;
    let third = stage.ran(0, 1, &[]).await;
    let rerun = store.create_rerun(&first, "me").await.unwrap();
    assert!(store.give_inputs_of(rerun.id, first.id).await.unwrap());
    stage.finish(&rerun, BuildStatus::Succeeded).await;

    let newest = (BuildId(i64::MAX), BuildId(i64::MAX));
    let oldest = (BuildId(0), BuildId(0));
    let ids = |builds: Vec<crate::CarryingBuild>| {
        builds.iter().map(|build| build.build).collect::<Vec<_>>()
    };
    let any = Carrying::Resource(stage.resource);
    let down = store.builds_down(job, any, newest, 10).await.unwrap();
    assert_eq!(ids(down.clone()), [third.id, second.id, rerun.id, first.id]);
    assert_eq!(down[2].original, first.id);
    assert_eq!(down[0].inputs, [(stage.resource, stage.id(1).await)]);
    let below = store.builds_down(job, any, (second.id, second.id), 2).await;
    assert_eq!(ids(below.unwrap()), [second.id, rerun.id]);
    let up = store.builds_up(job, any, oldest, 2).await.unwrap();
    assert_eq!(ids(up), [first.id, rerun.id]);
    let one = Carrying::Version(stage.id(1).await);
    let down = store.builds_down(job, one, newest, 10).await.unwrap();
    assert_eq!(ids(down), [third.id, rerun.id, first.id]);
    let above = store.builds_up(job, one, (first.id, rerun.id), 10).await;
    assert_eq!(ids(above.unwrap()), [rerun.id, third.id]);
    let other = store.builds_down(stage.jobs[1], any, newest, 10).await;
    assert_eq!(ids(other.unwrap()), []);
}

async fn a_put_saves_its_version_and_a_success_carries_it(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    stage.found(&[1]).await;
    let build = stage.build(0).await;
    stage.give(&build, 1, &[]).await;
    for number in [2, 2, 1] {
        let version = v(number);
        let put = store.save_output(build.id, "out", stage.resource, &version, &[]);
        put.await.unwrap();
    }
    assert_eq!(store.carried(build.id).await.unwrap(), None);
    stage.finish(&build, BuildStatus::Succeeded).await;
    let carried = store.carried(build.id).await.unwrap().unwrap();
    // What it put out counts as put out, also if it took it in.
    let expected = [stage.id(1).await, stage.id(2).await].map(|id| (stage.resource, id));
    assert_eq!(
        (carried.outputs.as_slice(), carried.inputs.len()),
        (&expected[..], 0)
    );
    let shown = store.build_versions(build.id).await.unwrap();
    assert_eq!((shown.inputs.len(), shown.outputs.len()), (1, 2));
    let made = store
        .builds_with_output(stage.id(2).await, 10)
        .await
        .unwrap();
    assert_eq!(made.len(), 1);
}

async fn reruns_are_named_and_ordered_after_their_original(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    stage.found(&[1]).await;
    let first = stage.ran(0, 1, &[]).await;
    let second = stage.ran(0, 1, &[]).await;
    let rerun = store.create_rerun(&first, "me").await.unwrap();
    assert_eq!(rerun.name, "1.1");
    let again = store.create_rerun(&rerun, "me").await.unwrap();
    assert_eq!(again.name, "1.2");
    assert_eq!(
        again.rerun_of.as_ref().map(|of| (of.build, of.number)),
        Some((first.id, 2))
    );
    // A rerun of the past is not what comes next, and does not become the latest.
    assert_eq!(store.next_build(job).await.unwrap(), None);
    stage.finish(&rerun, BuildStatus::Succeeded).await;
    let finished = store.finished_build(job).await.unwrap().unwrap();
    assert_eq!(finished.id, second.id);
    let of_latest = store.create_rerun(&second, "me").await.unwrap();
    assert_eq!(
        store.next_build(job).await.unwrap().unwrap().id,
        of_latest.id
    );
    let waiting = store.unfinished_of(stage.pipeline).await.unwrap();
    let order: Vec<_> = waiting.iter().map(|build| build.id).collect();
    assert_eq!(order, [again.id, of_latest.id]);
    let listed = store
        .job_overviews(crate::JobsOf::Pipeline(stage.pipeline))
        .await
        .unwrap();
    assert_eq!(
        listed[0].next.as_ref().map(|build| build.id),
        Some(of_latest.id)
    );
    assert_eq!(
        listed[0].finished.as_ref().map(|build| build.id),
        Some(second.id)
    );
    store.set_build_comment(second.id, "good").await.unwrap();
    assert_eq!(
        store.build(second.id).await.unwrap().unwrap().comment,
        "good"
    );
}

async fn a_trigger_creates_one_build_at_a_time(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    stage.found(&[1]).await;
    let first = store.create_triggered_build(job).await.unwrap().unwrap();
    assert_eq!(store.create_triggered_build(job).await.unwrap(), None);
    let build = store.build(first).await.unwrap().unwrap();
    assert_eq!((build.name.as_str(), build.manual), ("1", false));
    stage.give(&build, 1, &[]).await;
    let second = store.create_triggered_build(job).await.unwrap().unwrap();
    assert_eq!(store.build(second).await.unwrap().unwrap().name, "2");
    assert_eq!(store.create_triggered_build(JobId(99)).await.unwrap(), None);
}

async fn the_next_inputs_are_kept_with_their_reasons(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    stage.found(&[1]).await;
    let input = |name: &str, chosen| NextInput {
        name: name.into(),
        chosen,
    };
    let mut next = NextInputs {
        inputs: vec![
            input("a", Ok((stage.id(1).await, true))),
            input("b", Err("no".into())),
        ],
        has_new: true,
    };
    store.save_next_inputs(job, &next).await.unwrap();
    assert_eq!(store.next_inputs(job).await.unwrap(), Some(next.clone()));
    assert_eq!(store.next_versions(job).await.unwrap(), None);
    assert!(!store.job_states(stage.pipeline, &[job]).await.unwrap()[0].inputs_determined);
    next.inputs.pop();
    store.save_next_inputs(job, &next).await.unwrap();
    let versions = store.next_versions(job).await.unwrap().unwrap();
    assert_eq!(versions, [("a".to_owned(), stage.resource, v(1))]);
    assert!(store.job_states(stage.pipeline, &[job]).await.unwrap()[0].inputs_determined);
    assert!(store.job_by_id(job).await.unwrap().unwrap().has_new_inputs);
    store.save_next_inputs(JobId(99), &next).await.unwrap();
    assert_eq!(store.next_inputs(JobId(99)).await.unwrap(), None);
}

async fn lists_know_what_was_new_and_where_versions_went(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    stage.found(&[1, 2]).await;
    let first = stage.ran(0, 1, &[]).await;
    let rerun = store.create_rerun(&first, "ann").await.unwrap();
    assert!(store.give_inputs_of(rerun.id, first.id).await.unwrap());
    let other = stage.build(1).await;
    assert!(stage.give(&other, 1, &[]).await);
    let new = store.first_inputs(&[rerun.id, other.id, first.id]).await;
    let new: Vec<_> = new
        .unwrap()
        .into_iter()
        .map(|new| (new.build, new.version))
        .collect();
    assert_eq!(new, [(first.id, v(1)), (other.id, v(1))]);
    let ids = [stage.id(2).await, stage.id(1).await];
    let uses = store.version_uses(&ids).await.unwrap();
    let shown: Vec<_> = uses
        .iter()
        .map(|one| (one.version, one.job, one.build_name.as_str(), one.status))
        .collect();
    assert_eq!(
        shown,
        [
            (ids[1], stage.jobs[0], "1.1", BuildStatus::Pending),
            (ids[1], stage.jobs[1], "1", BuildStatus::Pending),
        ]
    );
    assert_eq!(store.first_inputs(&[]).await.unwrap(), []);
    for (choice, ids) in [
        (BuildChoice::All, vec![other.id, rerun.id, first.id]),
        (BuildChoice::Unfinished, vec![other.id, rerun.id]),
        (BuildChoice::Finished, vec![first.id]),
        (BuildChoice::Status(BuildStatus::Started), vec![]),
        (BuildChoice::Status(BuildStatus::Succeeded), vec![first.id]),
    ] {
        let filter = BuildFilter {
            choice,
            ..BuildFilter::default()
        };
        let listed = store.builds(&filter, BuildPage::default()).await.unwrap();
        let listed: Vec<_> = listed.iter().map(|build| build.id).collect();
        assert_eq!(listed, ids, "{choice:?}");
    }
}

async fn pipelines_that_nobody_stands_for_are_found(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let child = |name: &str| SavePipeline {
        team,
        name: name.into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: Vec::new(),
        resources: Vec::new(),
        expected_version: None,
    };
    let build = stage.build(0).await;
    let parent = crate::Parent {
        job: stage.jobs[0],
        build: build.id,
    };
    let set = store.save_child_pipeline(child("c"), parent).await.unwrap();
    assert_eq!(store.abandoned_pipelines().await.unwrap(), []);
    stage.finish(&build, BuildStatus::Succeeded).await;
    assert_eq!(store.abandoned_pipelines().await.unwrap(), []);
    let failed = stage.build(0).await;
    stage.finish(&failed, BuildStatus::Failed).await;
    assert_eq!(store.abandoned_pipelines().await.unwrap(), []);
    let later = stage.build(0).await;
    stage.finish(&later, BuildStatus::Succeeded).await;
    assert_eq!(
        store.abandoned_pipelines().await.unwrap(),
        [set.pipeline.id]
    );
    store.archive_pipeline(set.pipeline.id).await.unwrap();
    assert_eq!(store.abandoned_pipelines().await.unwrap(), []);
    let parent = crate::Parent {
        job: stage.jobs[0],
        build: later.id,
    };
    let other = store.save_child_pipeline(child("d"), parent).await.unwrap();
    store.archive_pipeline(stage.pipeline).await.unwrap();
    assert_eq!(
        store.abandoned_pipelines().await.unwrap(),
        [other.pipeline.id]
    );
    store.destroy_pipeline(stage.pipeline).await.unwrap();
    assert_eq!(
        store.abandoned_pipelines().await.unwrap(),
        [other.pipeline.id]
    );
}
