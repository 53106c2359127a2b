use std::time::Duration;

use airside_model::{BuildId, BuildStatus, JobId, PipelineId, Plan, PlanId, PlanNode, Version};
use serde_json::json;

use crate::{
    GivenInput, InstanceVars, JobsOf, Lease, LoggedOf, NewBuild, NextInput, NextInputs, OneOff,
    Pausing, SaveJob, SavePipeline, SaveResource, Store, TaskCache, testing::TestDatabase,
};

crate::on_both_databases!(
    a_reaped_build_keeps_its_row_and_nothing_else,
    what_rests_is_not_retained_anew,
    reaped_builds_go_but_for_those_that_others_stand_on,
    one_offs_are_counted_by_team,
    what_the_configuration_has_no_more_goes_with_its_builds,
    caches_are_cold_once_nobody_uses_them,
    a_destroyed_pipeline_is_gone_at_once_and_its_rows_a_few_at_a_time,
);

struct Stage {
    store: Store,
    pipeline: PipelineId,
    job: JobId,
    _database: TestDatabase,
}

fn save(team: airside_model::TeamId, jobs: &[&str], resources: &[&str]) -> SavePipeline {
    SavePipeline {
        team,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: jobs.iter().map(|name| SaveJob::named(name)).collect(),
        resources: resources
            .iter()
            .map(|name| SaveResource::named(name, "mock"))
            .collect(),
        expected_version: None,
    }
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let saved = store
        .save_pipeline(save(team, &["j"], &["r"]))
        .await
        .unwrap();
    let pipeline = saved.pipeline.id;
    let job = store.job(pipeline, "j").await.unwrap().unwrap().id;
    let resume = Pausing::Resume;
    store.set_pipeline_paused(pipeline, resume).await.unwrap();
    Stage {
        store,
        pipeline,
        job,
        _database: database,
    }
}

fn plan() -> Plan {
    Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()))
}

impl Stage {
    async fn begin(&self) -> Lease {
        let new = NewBuild {
            job: self.job,
            created_by: None,
        };
        let build = self.store.create_build(new).await.unwrap();
        self.take(build.id).await
    }

    async fn take(&self, build: BuildId) -> Lease {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "me", "here", minute).await;
        let lease = taken.unwrap().unwrap();
        self.store.start_build(&lease, &plan()).await.unwrap();
        lease
    }

    async fn end(&self, lease: &Lease) -> BuildId {
        let status = BuildStatus::Succeeded;
        self.store.finish_build(lease, status).await.unwrap();
        self.store.log_closed(lease.build).await.unwrap();
        lease.build
    }

    async fn ran(&self) -> BuildId {
        let lease = self.begin().await;
        self.end(&lease).await
    }

    async fn logged(&self) -> Vec<BuildId> {
        let of = LoggedOf::Job(self.job);
        let logged = self.store.logged_builds(of, None, 10).await.unwrap();
        logged.iter().map(|logged| logged.build).collect()
    }

    async fn found(&self, number: i64) -> airside_model::ResourceVersionId {
        let resource = self.store.resource(self.pipeline, "r").await.unwrap();
        let resource = resource.unwrap().id;
        let from = self.store.check_from(resource).await.unwrap().unwrap();
        let version = Version::from([("v", number.to_string())]);
        let versions = [(version.clone(), Vec::new())];
        let saved = self.store.save_versions(resource, &from, &versions).await;
        saved.unwrap();
        let found = self.store.version_containing(resource, &version).await;
        found.unwrap().unwrap()
    }
}

async fn a_reaped_build_keeps_its_row_and_nothing_else(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let (old, new) = (stage.ran().await, stage.ran().await);
    let running = stage.begin().await;
    assert_eq!(stage.logged().await, [new, old]);
    let of = LoggedOf::Job(stage.job);
    let older = store.logged_builds(of, Some(new), 10).await.unwrap();
    assert_eq!(older.len(), 1);

    store.reap_builds(&[old, running.build]).await.unwrap();
    assert_eq!(stage.logged().await, [new]);
    let reaped = store.build(old).await.unwrap().unwrap();
    assert!(reaped.reaped_at.is_some() && reaped.status == BuildStatus::Succeeded);
    assert_eq!(store.build_plan(old).await.unwrap(), None);
    // A build that runs is never reaped.
    let running_row = store.build(running.build).await.unwrap().unwrap();
    assert_eq!(running_row.reaped_at, None);
    assert!(store.build_plan(running.build).await.unwrap().is_some());
    let gone = BuildId(999);
    let garbage = store.without_log(&[old, new, running.build, gone]).await;
    assert_eq!(garbage.unwrap(), [old, gone]);
}

async fn what_rests_is_not_retained_anew(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    assert_eq!(store.retained_jobs().await.unwrap().len(), 1);
    assert!(store.retained_job(stage.job).await.unwrap().is_some());
    let pause = Pausing::Pause { by: "ann" };
    store.set_job_paused(stage.job, pause).await.unwrap();
    assert_eq!(store.retained_jobs().await.unwrap(), []);
    assert_eq!(store.retained_job(stage.job).await.unwrap(), None);
    store
        .set_job_paused(stage.job, Pausing::Resume)
        .await
        .unwrap();
    store
        .set_pipeline_paused(stage.pipeline, pause)
        .await
        .unwrap();
    assert_eq!(store.retained_jobs().await.unwrap(), []);
    // What is put away is over, not resting.
    store.archive_pipeline(stage.pipeline).await.unwrap();
    assert_eq!(store.retained_jobs().await.unwrap().len(), 1);
}

async fn reaped_builds_go_but_for_those_that_others_stand_on(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let version = stage.found(1).await;
    let carrier = {
        let new = NewBuild {
            job: stage.job,
            created_by: None,
        };
        let build = store.create_build(new).await.unwrap().id;
        let input = GivenInput {
            name: "r".into(),
            version,
            first_occurrence: true,
        };
        store.give_inputs(build, &[input], &[]).await.unwrap();
        let lease = stage.take(build).await;
        stage.end(&lease).await
    };
    let (old, older) = (stage.ran().await, stage.ran().await);
    let newest = stage.ran().await;
    store
        .reap_builds(&[carrier, old, older, newest])
        .await
        .unwrap();
    // The next build would get the version through the carrier.
    let next = NextInput {
        name: "r".into(),
        chosen: Ok((version, false)),
    };
    let next = NextInputs {
        inputs: vec![next],
        has_new: false,
    };
    store.save_next_inputs(stage.job, &next).await.unwrap();
    let of = LoggedOf::Job(stage.job);
    assert_eq!(store.forget_reaped(of, 1, 1).await.unwrap(), 1);
    assert_eq!(store.forget_reaped(of, 1, 10).await.unwrap(), 1);
    assert_eq!(store.forget_reaped(of, 1, 10).await.unwrap(), 0);
    for (build, there) in [
        (carrier, true),
        (old, false),
        (older, false),
        (newest, true),
    ] {
        assert_eq!(
            store.build(build).await.unwrap().is_some(),
            there,
            "{build}"
        );
    }
}

async fn one_offs_are_counted_by_team(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let mut builds = Vec::new();
    for _ in 0..3 {
        let one_off = OneOff {
            team,
            pipeline: None,
            created_by: None,
            plan: &plan(),
        };
        let build = store.create_one_off(one_off).await.unwrap().id;
        let minute = Duration::from_secs(60);
        let lease = store.take_build(build, "me", "here", minute).await;
        builds.push(stage.end(&lease.unwrap().unwrap()).await);
    }
    let of = LoggedOf::OneOffs(team);
    assert_eq!(store.logged_builds(of, None, 10).await.unwrap().len(), 3);
    store.reap_builds(&builds).await.unwrap();
    assert_eq!(store.logged_builds(of, None, 10).await.unwrap(), []);
    assert_eq!(store.forget_reaped(of, 2, 10).await.unwrap(), 1);
    assert_eq!(store.build(builds[0]).await.unwrap(), None);
}

async fn what_the_configuration_has_no_more_goes_with_its_builds(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    stage.found(1).await;
    let build = stage.ran().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    assert_eq!(store.collect_versions(10).await.unwrap(), 0);
    let mut other = save(team, &["k"], &["s"]);
    let version = store.pipeline_by_id(stage.pipeline).await.unwrap().unwrap();
    other.expected_version = Some(version.config_version);
    store.save_pipeline(other).await.unwrap();
    // The job stays for its build, the resource for its version.
    assert_eq!(store.collect_jobs(10).await.unwrap(), 0);
    assert_eq!(store.collect_resources(10).await.unwrap(), 0);
    assert_eq!(store.collect_versions(10).await.unwrap(), 1);
    assert_eq!(store.collect_resources(10).await.unwrap(), 1);
    store.reap_builds(&[build]).await.unwrap();
    let of = LoggedOf::Job(stage.job);
    assert_eq!(store.forget_reaped(of, 0, 10).await.unwrap(), 1);
    assert_eq!(store.collect_jobs(10).await.unwrap(), 1);
    assert_eq!(store.jobs(stage.pipeline).await.unwrap().len(), 1);
}

async fn caches_are_cold_once_nobody_uses_them(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let lease = stage.begin().await;
    let volume = airside_model::VolumeId("v-1".into());
    let handle = airside_model::Handle::new("h");
    let announced = store.announce_volume(&lease, &volume, &handle, "c").await;
    announced.unwrap();
    let cache = TaskCache {
        path: "c",
        volume: &volume,
        ttl: None,
    };
    store
        .save_task_caches(&lease, stage.job, "t", &[cache])
        .await
        .unwrap();
    let used = store.use_task_cache(&lease, stage.job, "t", "c").await;
    assert_eq!(used.unwrap(), Some(volume.clone()));
    assert_eq!(store.cold_caches(10).await.unwrap(), []);
    stage.end(&lease).await;
    let cold = store.cold_caches(10).await.unwrap();
    assert_eq!(cold.len(), 1);
    // Another build came in between.
    let next = stage.begin().await;
    let used = store.use_task_cache(&next, stage.job, "t", "c").await;
    assert!(used.unwrap().is_some());
    assert!(!store.give_up_cache(&cold[0]).await.unwrap());
    stage.end(&next).await;
    assert!(store.give_up_cache(&cold[0]).await.unwrap());
    assert_eq!(store.dead_volumes().await.unwrap(), [volume]);
}

#[tokio::test]
async fn a_file_gives_back_what_it_does_not_need() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let claims = json!({"padding": "x".repeat(4000)});
    for number in 0..1500 {
        let hash = format!("{number}");
        let then = crate::Micros(1);
        store.save_token(&hash, &claims, then).await.unwrap();
    }
    let crate::DatabaseUrl::Sqlite(path) = &database.url else {
        panic!("a file");
    };
    let size = || async {
        // What the log beside it holds is taken over first.
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut sqlite(path).await)
            .await
            .unwrap();
        std::fs::metadata(path).unwrap().len()
    };
    let full = size().await;
    assert!(full > 6_000_000, "{full}");
    while store.collect_tokens(500).await.unwrap() > 0 {}
    assert_eq!(size().await, full, "nothing is given back by itself");
    while store.give_back_space().await.unwrap() > 0 {}
    let rest = size().await;
    assert!(rest < full / 2, "{rest} of {full}");
}

#[tokio::test]
async fn a_file_from_before_is_made_to_shrink() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    {
        let mut old = sqlite(&path).await;
        sqlx::raw_sql("PRAGMA auto_vacuum = NONE; CREATE TABLE before (x TEXT)")
            .execute(&mut old)
            .await
            .unwrap();
    }
    let database = TestDatabase::sqlite_in(dir);
    let store = database.open().await;
    store.close().await;
    let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum")
        .fetch_one(&mut sqlite(&path).await)
        .await
        .unwrap();
    assert_eq!(mode, 2);
}

async fn sqlite(path: &std::path::Path) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    sqlx::ConnectOptions::connect(&options).await.unwrap()
}

async fn a_destroyed_pipeline_is_gone_at_once_and_its_rows_a_few_at_a_time(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let team = store.team("main").await.unwrap().unwrap().id;
    let resource = store.resource(stage.pipeline, "r").await.unwrap().unwrap();
    let from = store.check_from(resource.id).await.unwrap().unwrap();
    let versions: Vec<_> = (0..7)
        .map(|n| (Version::from([("v", format!("{n}"))]), Vec::new()))
        .collect();
    let saved = store.save_versions(resource.id, &from, &versions).await;
    saved.unwrap();
    let mut builds = Vec::new();
    for _ in 0..5 {
        builds.push(stage.ran().await);
    }
    let pending = stage.begin().await.build;
    let before = store.pipeline_by_id(stage.pipeline).await.unwrap().unwrap();

    store.destroy_pipeline(stage.pipeline).await.unwrap();
    assert_eq!(store.pipelines(None).await.unwrap(), []);
    assert_eq!(store.pipelines(Some(team)).await.unwrap(), []);
    for name in [before.name.clone(), format!("/{}", stage.pipeline)] {
        assert_eq!(store.pipeline(team, &name).await.unwrap(), None);
    }
    assert_eq!(store.pipeline_by_id(stage.pipeline).await.unwrap(), None);
    assert_eq!(store.pipeline_config(stage.pipeline).await.unwrap(), None);
    for of in [JobsOf::Everybody, JobsOf::Team(team)] {
        assert_eq!(store.job_overviews(of).await.unwrap(), []);
    }
    assert_eq!(store.all_resources().await.unwrap(), []);
    assert_eq!(store.retained_job(stage.job).await.unwrap(), None);
    for build in builds.iter().chain([&pending]) {
        assert_eq!(store.build(*build).await.unwrap(), None);
    }
    let listed = store.unfinished_builds().await.unwrap();
    assert_eq!(listed, []);
    let created = NewBuild {
        job: stage.job,
        created_by: None,
    };
    assert!(store.create_build(created).await.is_err());
    // Its name is free.
    let again = store.save_pipeline(save(team, &["j"], &["r"])).await;
    assert!(again.unwrap().created);

    let mut rows = Vec::new();
    let mut gone = Vec::new();
    loop {
        let went = store.collect_destroyed(3).await.unwrap();
        rows.push(went.rows);
        gone.extend(went.builds);
        if went.rows == 0 {
            break;
        }
    }
    // Builds, versions, resource, job, pipeline.
    assert_eq!(rows, [3, 2, 3, 3, 1, 1, 1, 1, 0]);
    gone.sort();
    assert_eq!(gone, builds);
    assert_eq!(store.pipelines(None).await.unwrap().len(), 1);
}
