use std::time::Duration;

use airside_model::{BuildStatus, Plan, PlanId, PlanNode, SaveJob};
use serde_json::json;

use super::*;
use crate::{InstanceVars, News, SavePipeline, testing::TestDatabase};

crate::on_both_databases!(
    an_object_has_one_build,
    many_requests_at_once_make_one_build,
    an_object_has_one_rerun,
    a_collected_build_is_not_made_again,
    a_mirror_reads_the_newest_builds,
    listeners_hear_of_each_step_of_a_build,
);

struct Stage {
    store: Store,
    jobs: [JobId; 2],
    database: TestDatabase,
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let save = SavePipeline {
        team,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("a"), SaveJob::named("b")],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = store.save_pipeline(save).await.unwrap().pipeline.id;
    let jobs = store.jobs(pipeline).await.unwrap();
    Stage {
        jobs: [jobs[0].id, jobs[1].id],
        store,
        database,
    }
}

fn new<'a>(job: JobId) -> NewBuild<'a> {
    NewBuild {
        job,
        created_by: Some("kubernetes:ann"),
    }
}

impl Stage {
    async fn request(&self, uid: &str) -> RequestedBuild {
        let requested = self
            .store
            .create_requested_build(new(self.jobs[0]), uid, |_| ());
        requested.await.unwrap()
    }

    async fn finish(&self, build: BuildId) {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "me", "here", minute).await;
        let lease = taken.unwrap().unwrap();
        let finished = self.store.finish_build(&lease, BuildStatus::Succeeded);
        finished.await.unwrap();
    }
}

async fn an_object_has_one_build(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let RequestedBuild::Created(build) = stage.request("u1").await else {
        panic!("the first call creates a build");
    };
    assert_eq!(build.created_by.as_deref(), Some("kubernetes:ann"));
    assert_eq!(
        stage.request("u1").await,
        RequestedBuild::Existing(build.clone())
    );
    assert_eq!(store.requested_build("u1").await.unwrap(), Some(build.id));
    assert_eq!(
        store.build_request(build.id).await.unwrap().as_deref(),
        Some("u1")
    );
    assert_eq!(store.requested_build("u2").await.unwrap(), None);
    let other = stage.request("u2").await;
    assert_eq!(other.build().unwrap().name, "2", "no number is lost");

    // Another job's object with this uid, as of another cluster, learns nothing of the build.
    let refused = store.create_requested_build(new(stage.jobs[1]), "u1", |_| ());
    let error = refused.await.unwrap_err();
    assert!(matches!(error, Error::RequestedOtherwise { .. }), "{error}");
}

async fn many_requests_at_once_make_one_build(database: TestDatabase) {
    let stage = stage(database).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, job) = (stage.database.open().await, stage.jobs[0]);
        tasks.spawn(async move {
            let requested = store.create_requested_build(new(job), "u", |_| ());
            requested.await.unwrap()
        });
    }
    let all = tasks.join_all().await;
    let created = all
        .iter()
        .filter(|one| matches!(one, RequestedBuild::Created(_)));
    assert_eq!(created.count(), 1);
    let first = all[0].build().unwrap().id;
    assert!(all.iter().all(|one| one.build().unwrap().id == first));
    assert_eq!(stage.store.unfinished_builds().await.unwrap().len(), 1);
}

async fn an_object_has_one_rerun(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let build = store.create_build(new(stage.jobs[0])).await.unwrap();
    let rerun = || store.create_requested_rerun(&build, stage.jobs[0], "kubernetes:ann", "u");
    let first = rerun().await.unwrap();
    assert!(matches!(&first, RequestedBuild::Created(build) if build.name == "1.1"));
    let again = rerun().await.unwrap();
    assert!(matches!(&again, RequestedBuild::Existing(build) if Some(build) == first.build()));
}

async fn a_collected_build_is_not_made_again(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let build = stage.request("u").await.build().unwrap().id;
    let later = now().plus(Duration::from_secs(60));
    assert_eq!(store.collect_build_requests(later, 10).await.unwrap(), 0);
    query(sql!("DELETE FROM builds WHERE id = $1"))
        .bind(build.0)
        .execute(&store.write)
        .await
        .unwrap();
    assert_eq!(stage.request("u").await, RequestedBuild::Collected(build));
    let earlier = now().minus(Duration::from_secs(60));
    assert_eq!(store.collect_build_requests(earlier, 10).await.unwrap(), 0);
    assert_eq!(store.collect_build_requests(later, 10).await.unwrap(), 1);
    assert!(matches!(
        stage.request("u").await,
        RequestedBuild::Created(_)
    ));
}

async fn a_mirror_reads_the_newest_builds(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(store.create_build(new(job)).await.unwrap().id);
    }
    store.create_build(new(stage.jobs[1])).await.unwrap();
    for id in &ids[1..4] {
        stage.finish(*id).await;
    }
    for (unfinished, finished, expected) in [
        (10, 10, vec![5, 4, 3, 2, 1, 0]),
        (10, 2, vec![5, 4, 3, 2, 0]),
        (1, 1, vec![5, 3]),
        (0, 0, vec![]),
    ] {
        let newest = store
            .newest_builds(job, unfinished, finished)
            .await
            .unwrap();
        let newest: Vec<BuildId> = newest.iter().map(|build| build.id).collect();
        let expected: Vec<BuildId> = expected.into_iter().map(|at: usize| ids[at]).collect();
        assert_eq!(newest, expected);
    }
    let of = crate::JobsOf::Job(job);
    let overviews = store.job_overviews(of).await.unwrap();
    assert_eq!(overviews.len(), 1);
    let brief = overviews[0].finished.as_ref().unwrap();
    assert_eq!((brief.id, brief.name.as_str()), (ids[3], "4"));
}

async fn listeners_hear_of_each_step_of_a_build(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, job) = (&stage.store, stage.jobs[0]);
    let mut news = store.news();
    let build = stage.request("u").await.build().unwrap().id;
    stage.request("u").await;
    let minute = Duration::from_secs(60);
    let taken = store.take_build(build, "me", "here", minute).await;
    let lease = taken.unwrap().unwrap();
    let plan = Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()));
    store.start_build(&lease, &plan).await.unwrap();
    store.start_build(&lease, &plan).await.unwrap();
    let finished = store.finish_build(&lease, BuildStatus::Failed);
    finished.await.unwrap();
    let triggered = store.create_triggered_build(job).await.unwrap().unwrap();
    let heard: Vec<News> = std::iter::from_fn(|| news.waiting())
        .map(|one| one.unwrap())
        .collect();
    let expected = [
        News::BuildCreated { build, job },
        News::JobAsked(job),
        News::BuildStarted { build, job },
        News::BuildFinished {
            build,
            job,
            succeeded: false,
        },
        News::BuildCreated {
            build: triggered,
            job,
        },
    ];
    assert_eq!(heard, expected);
}
