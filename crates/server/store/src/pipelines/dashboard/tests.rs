use std::time::Duration;

use airside_model::{BuildId, Plan, PlanId, PlanNode, ResourceId, SaveJob, SaveResource};
use serde_json::json;
use sqlx::{Connection, Executor};

use super::*;
use crate::{Build, EndedCheck, NewBuild, Pausing, SavePipeline, now, testing::TestDatabase};

crate::on_both_databases!(
    a_dashboard_shows_each_job_of_what_one_may_see,
    a_status_has_the_time_since_which_it_is_so,
    a_rerun_counts_as_its_original_does,
    checks_that_fail_are_counted,
);

struct Stage {
    store: Store,
    team: TeamId,
    _database: TestDatabase,
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    Stage {
        store,
        team,
        _database: database,
    }
}

impl Stage {
    async fn save(&self, team: TeamId, name: &str) -> PipelineId {
        let behind = json!({"inputs": [{"name": "r", "passed": ["b"]}]});
        let save = SavePipeline {
            team,
            name: name.into(),
            instance_vars: InstanceVars::default(),
            config: json!({}),
            jobs: vec![SaveJob::named("b"), SaveJob::new("a", &behind)],
            resources: vec![SaveResource::named("r", "mock")],
            expected_version: None,
        };
        self.store.save_pipeline(save).await.unwrap().pipeline.id
    }

    async fn build(&self, job: JobId) -> Build {
        let created_by = None;
        let made = self.store.create_build(NewBuild { job, created_by }).await;
        made.unwrap()
    }

    async fn finish(&self, build: BuildId, status: BuildStatus) -> Micros {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "t", "t", minute).await;
        let lease = taken.unwrap().unwrap();
        self.store.finish_build(&lease, status).await.unwrap()
    }

    async fn shown(&self, of: DashboardOf) -> Vec<DashboardPipeline> {
        self.store.dashboard(&of).await.unwrap()
    }

    async fn one(&self, id: PipelineId) -> DashboardPipeline {
        self.shown(DashboardOf::Pipeline(id)).await.remove(0)
    }

    async fn failing(&self, id: PipelineId) -> u32 {
        self.one(id).await.failing_checks
    }

    async fn check(&self, pipeline: PipelineId, resource: ResourceId, status: BuildStatus) {
        let plan = Plan::new(PlanId::new("1"), PlanNode::Check(Default::default()));
        let (started_at, ended_at) = (now(), now());
        let ended = EndedCheck {
            team: self.team,
            pipeline,
            resource,
            plan: &plan,
            status,
            started_at,
            ended_at,
        };
        self.store.save_check(ended).await.unwrap();
    }
}

fn ids(pipelines: &[DashboardPipeline]) -> Vec<PipelineId> {
    pipelines.iter().map(|pipeline| pipeline.id).collect()
}

async fn a_dashboard_shows_each_job_of_what_one_may_see(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let (other, _) = store.save_team("other", &json!({})).await.unwrap();
    let (p, q) = (
        stage.save(stage.team, "p").await,
        stage.save(other.id, "q").await,
    );
    let gone = stage.save(stage.team, "gone").await;
    store.destroy_pipeline(gone).await.unwrap();
    let by = Pausing::Pause { by: "ann" };
    store.set_pipeline_paused(p, by).await.unwrap();
    let jobs = store.jobs(p).await.unwrap();
    store.set_job_paused(jobs[1].id, by).await.unwrap();
    stage.build(jobs[0].id).await;

    let shown = stage.one(p).await;
    assert_eq!(
        (shown.name.as_str(), shown.team_name.as_str()),
        ("p", "main")
    );
    assert!(shown.paused && !shown.public && !shown.archived);
    assert_eq!(shown.paused_by.as_deref(), Some("ann"));
    assert_eq!(shown.ranks, "01");
    assert_eq!((shown.failing_checks, shown.since()), (0, None));
    let idle = DashboardJob {
        id: jobs[1].id,
        paused: true,
        latest: None,
        since: None,
        activity: JobActivity::Idle,
    };
    let pending = DashboardJob {
        id: jobs[0].id,
        paused: false,
        activity: JobActivity::Pending,
        ..idle
    };
    assert_eq!(shown.jobs, [pending, idle]);

    let all = stage.shown(DashboardOf::Everybody).await;
    assert_eq!(ids(&all), [p, q]);
    assert_eq!(all[0], shown);
    let visible = DashboardOf::Visible;
    assert_eq!(stage.shown(visible(vec![])).await, []);
    let own = stage.shown(visible(vec![stage.team])).await;
    assert_eq!(ids(&own), [p]);
    store.set_pipeline_public(q, true).await.unwrap();
    assert_eq!(ids(&stage.shown(visible(vec![])).await), [q]);
    let both = stage.shown(visible(vec![stage.team, TeamId(99)])).await;
    assert_eq!(ids(&both), [p, q]);
}

async fn a_status_has_the_time_since_which_it_is_so(database: TestDatabase) {
    use BuildStatus::{Failed, Succeeded};
    let stage = stage(database).await;
    let p = stage.save(stage.team, "p").await;
    let jobs = stage.store.jobs(p).await.unwrap();
    let mut ends = Vec::new();
    for status in [Succeeded, Succeeded, Failed, Failed] {
        let build = stage.build(jobs[0].id).await;
        ends.push(stage.finish(build.id, status).await);
        let shown = stage.one(p).await;
        // Since the first that had this status.
        let first = if status == Succeeded { 0 } else { 2 };
        assert_eq!(
            (shown.jobs[0].latest, shown.jobs[0].since),
            (Some(status), Some(ends[first]))
        );
        assert_eq!(shown.since(), Some(ends[first]));
    }
    // Another job that goes well changes nothing: one still fails.
    let build = stage.build(jobs[1].id).await;
    let well = stage.finish(build.id, Succeeded).await;
    assert_eq!(stage.one(p).await.since(), Some(ends[2]));
    // But one that is paused does not count.
    let by = Pausing::Pause { by: "ann" };
    stage.store.set_job_paused(jobs[0].id, by).await.unwrap();
    assert_eq!(stage.one(p).await.since(), Some(well));
}

async fn a_rerun_counts_as_its_original_does(database: TestDatabase) {
    use BuildStatus::{Errored, Failed, Succeeded};
    let stage = stage(database).await;
    let p = stage.save(stage.team, "p").await;
    let job = stage.store.jobs(p).await.unwrap()[0].id;
    let (old, new) = (stage.build(job).await, stage.build(job).await);
    let since = stage.finish(new.id, Succeeded).await;
    // The older one ends later.
    stage.finish(old.id, Failed).await;
    let rerun = stage.store.create_rerun(&old, "ann").await.unwrap();
    stage.finish(rerun.id, Errored).await;
    let shown = stage.one(p).await.jobs[0];
    assert_eq!((shown.latest, shown.since), (Some(Succeeded), Some(since)));
    let rerun = stage.store.create_rerun(&new, "ann").await.unwrap();
    let since = stage.finish(rerun.id, Errored).await;
    let shown = stage.one(p).await.jobs[0];
    assert_eq!((shown.latest, shown.since), (Some(Errored), Some(since)));
    let latest = stage.store.finished_build(job).await.unwrap().unwrap();
    assert_eq!(latest.id, rerun.id, "as other lists have it");
}

async fn checks_that_fail_are_counted(database: TestDatabase) {
    let stage = stage(database).await;
    let (p, q) = (
        stage.save(stage.team, "p").await,
        stage.save(stage.team, "q").await,
    );
    let resource = stage.store.resource(p, "r").await.unwrap().unwrap().id;
    stage.check(p, resource, BuildStatus::Failed).await;
    assert_eq!((stage.failing(p).await, stage.failing(q).await), (1, 0));
    stage.check(p, resource, BuildStatus::Succeeded).await;
    assert_eq!(stage.failing(p).await, 0);
}

/// Builds that finished before the columns came: the last two of them failed.
#[tokio::test]
async fn an_older_database_learns_its_statuses() {
    let database = TestDatabase::sqlite();
    let crate::DatabaseUrl::Sqlite(path) = &database.url else {
        panic!("not a file");
    };
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut old = sqlx::SqliteConnection::connect_with(&options)
        .await
        .unwrap();
    sqlx::migrate!("migrations/sqlite")
        .run_direct(Some(61), &mut old, false)
        .await
        .unwrap();
    let filled = "INSERT INTO teams (id, name, admin, auth) VALUES (1, 'main', TRUE, x'');
        INSERT INTO pipelines (id, team_id, name, instance_vars, ordering, instance_ordering, paused,
          public, archived, config, summary, config_version, updated_at)
        VALUES (7, 1, 'p', '{}', 1, 1, FALSE, FALSE, FALSE, x'', '{}', 1, 1);
        INSERT INTO jobs (id, pipeline_id, name, active, paused, ordering, build_number)
        VALUES (8, 7, 'j', TRUE, FALSE, 0, 4), (9, 7, 'k', TRUE, FALSE, 1, 0);
        INSERT INTO builds (id, team_id, pipeline_id, job_id, name, status, created_at, ended_at,
          rerun_of)
        VALUES (1, 1, 7, 8, '1', 'succeeded', 1, 10, NULL), (2, 1, 7, 8, '2', 'failed', 1, 20, NULL),
          (3, 1, 7, 8, '3', 'failed', 1, 30, NULL), (4, 1, 7, 8, '4', 'started', 1, NULL, NULL);";
    old.execute(sqlx::raw_sql(filled)).await.unwrap();
    old.close().await.unwrap();

    let store = database.open().await;
    let shown = store.dashboard(&DashboardOf::Everybody).await.unwrap();
    let job = |at: usize| {
        let job = shown[0].jobs[at];
        (job.latest, job.since, job.activity)
    };
    let failed = Some(BuildStatus::Failed);
    assert_eq!(job(0), (failed, Some(Micros(20)), JobActivity::Started));
    assert_eq!(job(1), (None, None, JobActivity::Idle));
    assert_eq!(shown[0].ranks, "");
}
