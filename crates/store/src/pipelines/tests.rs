use airside_model::{TeamId, Version};
use serde_json::json;

use super::*;
use crate::{Error, NewBuild};

struct Fixture {
    store: Store,
    team: TeamId,
    dir: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let sealer = Sealer::new(&[0; 32]).unwrap();
    let store = Store::open(&dir.path().join("db"), sealer).await.unwrap();
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    Fixture { store, team, dir }
}

impl Fixture {
    fn config(&self, name: &str, jobs: &[&str], resources: &[(&str, &str)]) -> SavePipeline {
        SavePipeline {
            team: self.team,
            name: name.into(),
            config: json!({"jobs": jobs, "password": "hunter2"}),
            jobs: jobs.iter().map(|name| name.to_string()).collect(),
            resources: resources
                .iter()
                .map(|(name, kind)| (name.to_string(), kind.to_string()))
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

#[tokio::test]
async fn a_new_pipeline_is_paused_and_found_by_name_and_id() {
    let fixture = fixture().await;
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

#[tokio::test]
async fn saving_again_keeps_what_has_the_same_name() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let first = fixture
        .save("p", &["stays", "goes"], &[("r", "mock"), ("s", "mock")])
        .await;
    store
        .set_pipeline_paused(first.pipeline.id, false)
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

#[tokio::test]
async fn a_change_made_from_an_old_version_is_refused() {
    let fixture = fixture().await;
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

#[tokio::test]
async fn an_archived_pipeline_comes_back() {
    let fixture = fixture().await;
    let first = fixture.save("p", &["a"], &[]).await.pipeline;
    sqlx::query("UPDATE pipelines SET archived = TRUE")
        .execute(&fixture.store.write)
        .await
        .unwrap();
    let mut save = fixture.config("p", &["a"], &[]);
    save.expected_version = Some(0);
    let second = fixture.store.save_pipeline(save).await.unwrap();
    assert!(!second.created && !second.pipeline.archived);
    assert_eq!(second.pipeline.id, first.id);
}

#[tokio::test]
async fn a_resource_of_another_type_starts_over() {
    let fixture = fixture().await;
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
        store.save_versions(resource.id, &[version]).await.unwrap();
    }
    fixture
        .save("p", &["a"], &[("r", "time"), ("s", "mock")])
        .await;
    let after = store.resource(pipeline, "r").await.unwrap().unwrap();
    assert_eq!((after.id, after.type_.as_str()), (changed.id, "time"));
    assert_eq!(store.latest_version(changed.id).await.unwrap(), None);
    assert!(store.latest_version(same.id).await.unwrap().is_some());
}

#[tokio::test]
async fn pipelines_are_listed_in_order_and_destroyed_with_all_they_have() {
    let fixture = fixture().await;
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
    store.destroy_pipeline(doomed.id).await.unwrap();
    assert_eq!(store.pipelines(None).await.unwrap().len(), 1);
    assert_eq!(store.job_by_id(job.id).await.unwrap(), None);
    assert_eq!(store.build(build.id).await.unwrap(), None);

    let again = fixture.save("a", &["job"], &[]).await;
    assert!(again.created && again.pipeline.config_version > doomed.config_version);
}

#[tokio::test]
async fn a_configuration_is_not_readable_in_the_files_of_the_database() {
    let fixture = fixture().await;
    fixture.save("p", &["a"], &[]).await;
    for entry in std::fs::read_dir(fixture.dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}
