use airside_model::{SaveJob, SaveResource, TeamId, Version};
use serde_json::json;

use super::*;
use crate::{Error, NewBuild, testing::TestDatabase};

crate::on_both_databases!(
    a_new_pipeline_is_paused_and_found_by_name_and_id,
    saving_again_keeps_what_has_the_same_name,
    a_change_made_from_an_old_version_is_refused,
    an_archived_pipeline_comes_back,
    a_resource_of_another_type_starts_over,
    pipelines_are_listed_in_order_and_destroyed_with_all_they_have,
    instances_of_a_name_live_side_by_side,
    pipelines_are_renamed_ordered_and_archived,
    of_two_changes_at_once_one_wins,
    jobs_are_listed_with_their_builds,
    thousands_of_jobs_are_saved_and_only_changes_are_written,
);

struct Fixture {
    store: Store,
    team: TeamId,
    database: TestDatabase,
}

async fn fixture(database: TestDatabase) -> Fixture {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    Fixture {
        store,
        team,
        database,
    }
}

impl Fixture {
    fn config(&self, name: &str, jobs: &[&str], resources: &[(&str, &str)]) -> SavePipeline {
        SavePipeline {
            team: self.team,
            name: name.into(),
            instance_vars: InstanceVars::default(),
            config: json!({"jobs": jobs, "password": "hunter2"}),
            jobs: jobs.iter().map(|name| SaveJob::named(name)).collect(),
            resources: resources
                .iter()
                .map(|(name, kind)| SaveResource::named(name, kind))
                .collect(),
            expected_version: None,
        }
    }

    async fn save(&self, name: &str, jobs: &[&str], resources: &[(&str, &str)]) -> Saved {
        self.store
            .save_pipeline(self.config(name, jobs, resources))
            .await
            .unwrap()
    }
}

async fn a_new_pipeline_is_paused_and_found_by_name_and_id(database: TestDatabase) {
    let fixture = fixture(database).await;
    let mut changes = fixture.store.subscribe();
    changes.mark_unchanged();
    let saved = fixture.save("p", &["b", "a"], &[("r", "mock")]).await;
    assert!(saved.created && saved.pipeline.paused && !saved.pipeline.public);
    assert_eq!(saved.pipeline.team_name, "main");
    assert!(changes.has_changed().unwrap());

    let store = &fixture.store;
    let found = store.pipeline(fixture.team, "p").await.unwrap().unwrap();
    assert_eq!(found, saved.pipeline);
    assert_eq!(
        store.pipeline_by_id(found.id).await.unwrap(),
        Some(found.clone())
    );
    assert_eq!(store.pipeline(fixture.team, "q").await.unwrap(), None);
    assert_eq!(store.pipeline(TeamId(2), "p").await.unwrap(), None);

    let jobs: Vec<String> = store
        .jobs(found.id)
        .await
        .unwrap()
        .into_iter()
        .map(|job| job.name)
        .collect();
    assert_eq!(jobs, ["b", "a"]);
    let job = store.job(found.id, "a").await.unwrap().unwrap();
    assert_eq!(store.job_by_id(job.id).await.unwrap(), Some(job));
    assert_eq!(store.resources(found.id).await.unwrap().len(), 1);
    assert_eq!(
        store.resource(found.id, "r").await.unwrap().unwrap().type_,
        "mock"
    );
}

async fn saving_again_keeps_what_has_the_same_name(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let first = fixture
        .save("p", &["stays", "goes"], &[("r", "mock"), ("s", "mock")])
        .await;
    store
        .set_pipeline_paused(first.pipeline.id, Pausing::Resume)
        .await
        .unwrap();
    store
        .set_pipeline_public(first.pipeline.id, true)
        .await
        .unwrap();
    let stays = store
        .job(first.pipeline.id, "stays")
        .await
        .unwrap()
        .unwrap();
    let goes = store.job(first.pipeline.id, "goes").await.unwrap().unwrap();

    let second = fixture.save("p", &["new", "stays"], &[("r", "mock")]).await;
    assert!(!second.created && !second.pipeline.paused && second.pipeline.public);
    assert_eq!(second.pipeline.id, first.pipeline.id);
    assert!(second.pipeline.config_version > first.pipeline.config_version);
    let jobs = store.jobs(first.pipeline.id).await.unwrap();
    assert_eq!(
        jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
        ["new", "stays"]
    );
    assert_eq!(jobs[1], stays);
    assert_eq!(store.job(first.pipeline.id, "goes").await.unwrap(), None);
    assert!(!store.job_by_id(goes.id).await.unwrap().unwrap().active);
    assert_eq!(store.resource(first.pipeline.id, "s").await.unwrap(), None);
}

async fn a_change_made_from_an_old_version_is_refused(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let mut save = fixture.config("p", &["a"], &[]);
    save.expected_version = Some(0);
    let first = store.save_pipeline(save.clone()).await.unwrap().pipeline;

    let refused = store.save_pipeline(save.clone()).await.unwrap_err();
    assert!(
        matches!(refused, Error::ConfigVersion { current: Some(version) } if version == first.config_version)
    );
    assert_eq!(
        store.pipeline_by_id(first.id).await.unwrap(),
        Some(first.clone())
    );
    save.expected_version = Some(first.config_version);
    store.save_pipeline(save).await.unwrap();
}

async fn an_archived_pipeline_comes_back(database: TestDatabase) {
    let fixture = fixture(database).await;
    let first = fixture.save("p", &["a"], &[]).await.pipeline;
    fixture.store.archive_pipeline(first.id).await.unwrap();
    let mut save = fixture.config("p", &["a"], &[]);
    save.expected_version = Some(0);
    let second = fixture.store.save_pipeline(save).await.unwrap();
    assert!(!second.created && !second.pipeline.archived);
    assert_eq!(second.pipeline.id, first.id);
}

async fn a_resource_of_another_type_starts_over(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let pipeline = fixture
        .save("p", &["a"], &[("r", "mock"), ("s", "mock")])
        .await
        .pipeline
        .id;
    let changed = store.resource(pipeline, "r").await.unwrap().unwrap();
    let same = store.resource(pipeline, "s").await.unwrap().unwrap();
    for resource in [&changed, &same] {
        let version = (Version::from([("version", "1")]), vec![]);
        let from = store.check_from(resource.id).await.unwrap().unwrap();
        let saved = store.save_versions(resource.id, &from, &[version]).await;
        saved.unwrap();
    }
    fixture
        .save("p", &["a"], &[("r", "time"), ("s", "mock")])
        .await;
    let after = store.resource(pipeline, "r").await.unwrap().unwrap();
    assert_eq!((after.id, after.type_.as_str()), (changed.id, "time"));
    assert_eq!(store.latest_version(changed.id).await.unwrap(), None);
    assert!(store.latest_version(same.id).await.unwrap().is_some());
}

async fn pipelines_are_listed_in_order_and_destroyed_with_all_they_have(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    for name in ["z", "a"] {
        fixture.save(name, &["job"], &[]).await;
    }
    let listed = store.pipelines(Some(fixture.team)).await.unwrap();
    assert_eq!(
        listed.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["z", "a"]
    );
    assert_eq!(store.pipelines(None).await.unwrap(), listed);
    assert_eq!(store.pipelines(Some(TeamId(9))).await.unwrap(), []);

    let doomed = &listed[1];
    let job = store.job(doomed.id, "job").await.unwrap().unwrap();
    let build = store
        .create_build(NewBuild {
            job: job.id,
            created_by: None,
        })
        .await
        .unwrap();
    let version = store
        .pipeline_by_id(doomed.id)
        .await
        .unwrap()
        .unwrap()
        .config_version;
    store.destroy_pipeline(doomed.id).await.unwrap();
    assert_eq!(store.pipelines(None).await.unwrap().len(), 1);
    assert_eq!(store.job(doomed.id, "job").await.unwrap(), None);
    assert_eq!(store.build(build.id).await.unwrap(), None);

    let again = fixture.save("a", &["job"], &[]).await;
    assert!(again.created && again.pipeline.config_version > version);
}

#[tokio::test]
async fn a_configuration_is_not_readable_in_the_files_of_the_database() {
    let fixture = fixture(TestDatabase::sqlite()).await;
    fixture.save("p", &["a"], &[]).await;
    for entry in std::fs::read_dir(fixture.database.dir()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}

fn vars(text: &str) -> InstanceVars {
    InstanceVars::parse(text).unwrap()
}

async fn instances_of_a_name_live_side_by_side(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    fixture.save("p", &["a"], &[]).await;
    fixture.save("q", &["a"], &[]).await;
    for text in [r#"{"a": 1, "b": "x"}"#, r#"{"a": 2}"#] {
        let mut save = fixture.config("p", &["a"], &[]);
        save.instance_vars = vars(text);
        assert!(store.save_pipeline(save.clone()).await.unwrap().created);
        assert!(!store.save_pipeline(save).await.unwrap().created);
    }
    let shown = async || -> Vec<String> {
        let all = store.pipelines(Some(fixture.team)).await.unwrap();
        all.iter()
            .map(|p| format!("{}/{}", p.name, p.instance_vars))
            .collect()
    };
    let expected = ["p/{}", r#"p/{"a":1,"b":"x"}"#, r#"p/{"a":2}"#, "q/{}"];
    assert_eq!(shown().await, expected);
    let other_order = vars(r#"{"b": "x", "a": 1}"#);
    let found = store
        .pipeline_instance(fixture.team, "p", &other_order)
        .await;
    assert!(found.unwrap().is_some());
    assert!(
        store
            .pipeline(fixture.team, "p")
            .await
            .unwrap()
            .unwrap()
            .instance_vars
            .is_empty()
    );

    let order = [vars(r#"{"a": 2}"#), vars("{}")];
    store
        .order_instances(fixture.team, "p", &order)
        .await
        .unwrap();
    assert_eq!(
        shown().await,
        [expected[2], expected[0], expected[1], expected[3]]
    );
    let missing = store
        .order_instances(fixture.team, "p", &[vars(r#"{"a": 3}"#)])
        .await;
    assert!(matches!(missing, Err(Error::NoSuchPipeline { .. })));
    assert_eq!(shown().await[0], expected[2], "nothing half done");

    assert!(
        store
            .rename_pipelines(fixture.team, "p", "r")
            .await
            .unwrap()
    );
    assert_eq!(
        shown()
            .await
            .iter()
            .filter(|name| name.starts_with("r/"))
            .count(),
        3
    );
}

async fn pipelines_are_renamed_ordered_and_archived(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    for name in ["a", "b", "c"] {
        fixture.save(name, &["job"], &[]).await;
    }
    let names = async || -> Vec<String> {
        let all = store.pipelines(None).await.unwrap();
        all.into_iter().map(|pipeline| pipeline.name).collect()
    };
    let order = ["c".to_owned(), "a".to_owned()];
    store.order_pipelines(fixture.team, &order).await.unwrap();
    assert_eq!(names().await, ["c", "a", "b"]);
    let missing = store
        .order_pipelines(fixture.team, &["b".into(), "no".into()])
        .await;
    assert_eq!(missing.unwrap_err().to_string(), "pipeline 'no' not found");
    assert_eq!(names().await, ["c", "a", "b"]);

    let taken = store.rename_pipelines(fixture.team, "a", "b").await;
    assert!(matches!(taken, Err(Error::NameTaken { .. })));
    assert!(
        !store
            .rename_pipelines(fixture.team, "no", "x")
            .await
            .unwrap()
    );
    assert!(
        store
            .rename_pipelines(fixture.team, "a", "d")
            .await
            .unwrap()
    );

    let pipeline = store.pipeline(fixture.team, "d").await.unwrap().unwrap();
    let job = store.job(pipeline.id, "job").await.unwrap().unwrap();
    store
        .set_job_paused(job.id, Pausing::Pause { by: "ann" })
        .await
        .unwrap();
    let job = store.job(pipeline.id, "job").await.unwrap().unwrap();
    assert!(job.paused && job.paused_by.as_deref() == Some("ann") && job.paused_at.is_some());
    store.set_job_paused(job.id, Pausing::Resume).await.unwrap();
    assert!(!store.job(pipeline.id, "job").await.unwrap().unwrap().paused);

    store.archive_pipeline(pipeline.id).await.unwrap();
    let archived = store.pipeline_by_id(pipeline.id).await.unwrap().unwrap();
    assert!(archived.archived && archived.paused);
    assert_eq!(archived.config, json!({}));
}

async fn of_two_changes_at_once_one_wins(database: TestDatabase) {
    let fixture = fixture(database).await;
    let first = fixture.save("p", &["a"], &[]).await.pipeline;
    let mut save = fixture.config("p", &["a", "b"], &[]);
    save.expected_version = Some(first.config_version);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, save) = (fixture.store.clone(), save.clone());
        tasks.spawn(async move { store.save_pipeline(save).await });
    }
    let results = tasks.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let stale = |result: &&Result<Saved>| matches!(result, Err(Error::ConfigVersion { .. }));
    assert_eq!(results.iter().filter(stale).count(), 7);
}

async fn jobs_are_listed_with_their_builds(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let p = fixture.save("p", &["b", "a"], &[]).await.pipeline.id;
    let q = fixture.save("q", &["c"], &[]).await.pipeline.id;
    let job = store.job(p, "b").await.unwrap().unwrap();
    let mut builds = Vec::new();
    for _ in 0..4 {
        let new = NewBuild {
            job: job.id,
            created_by: None,
        };
        builds.push(store.create_build(new).await.unwrap().id);
    }
    for id in &builds[..2] {
        let minute = std::time::Duration::from_secs(60);
        let lease = store.take_build(*id, "t", "t", minute).await.unwrap();
        store
            .finish_build(&lease.unwrap(), airside_model::BuildStatus::Failed)
            .await
            .unwrap();
    }
    let shown = |jobs: Vec<JobOverview>| -> Vec<(String, Option<i64>, Option<i64>)> {
        let id = |build: Option<BuildBrief>| build.map(|build| build.id.0);
        jobs.into_iter()
            .map(|each| (each.job.name, id(each.next), id(each.finished)))
            .collect()
    };
    let b = ("b".to_owned(), Some(builds[2].0), Some(builds[1].0));
    let (a, c) = (("a".to_owned(), None, None), ("c".to_owned(), None, None));
    for (of, expected) in [
        (JobsOf::Pipeline(p), vec![b.clone(), a.clone()]),
        (JobsOf::Pipeline(q), vec![c.clone()]),
        (
            JobsOf::Team(fixture.team),
            vec![b.clone(), a.clone(), c.clone()],
        ),
        (JobsOf::Team(TeamId(99)), vec![]),
        (JobsOf::Everybody, vec![b, a, c]),
    ] {
        let jobs = store.job_overviews(of).await.unwrap();
        assert_eq!(shown(jobs), expected, "{of:?}");
    }
    let finished = store.finished_build(job.id).await.unwrap().unwrap();
    assert_eq!(finished.id, builds[1]);
}

/// More values than one statement may bind.
async fn thousands_of_jobs_are_saved_and_only_changes_are_written(database: TestDatabase) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let names: Vec<String> = (0..9000).map(|number| format!("job-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let id = fixture.save("p", &names, &[]).await.pipeline.id;
    let before = store.jobs(id).await.unwrap();
    assert_eq!(before.len(), names.len());

    let mut changed = fixture.config("p", &names[..8000], &[]);
    changed.jobs[17].outline = r#"{"public":true}"#.into();
    store.save_pipeline(changed).await.unwrap();
    let after = store.jobs(id).await.unwrap();
    assert_eq!(after.len(), 8000);
    let other: Vec<&Job> = (after.iter().zip(&before))
        .filter(|(after, before)| after != before)
        .map(|(after, _)| after)
        .collect();
    assert_eq!(other.len(), 1);
    assert_eq!(other[0].outline, r#"{"public":true}"#);

    fixture.save("p", &names, &[]).await;
    assert_eq!(store.jobs(id).await.unwrap(), before);
}
