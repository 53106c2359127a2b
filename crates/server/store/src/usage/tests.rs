use std::time::Duration;

use airside_model::{
    BuildStatus, PipelineId, Plan, PlanId, PlanNode, Quota, Quotas, TeamId, Version, VolumeId,
};
use serde_json::json;

use crate::{
    Error, InstanceVars, NewBuild, SaveJob, SavePipeline, SaveResource, Store,
    testing::TestDatabase,
};

crate::on_both_databases!(
    a_team_over_its_quota_of_pipelines_and_resources_is_told,
    logs_are_counted_until_they_are_removed,
    volumes_are_counted_until_they_are_removed,
    versions_beyond_the_quota_are_forgotten_oldest_first,
);

async fn open(database: &TestDatabase, quotas: &[&str]) -> (Store, TeamId) {
    let quotas: Quotas = quotas.iter().map(|text| text.parse().unwrap()).collect();
    let store = database.open().await.with_quotas(quotas);
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    (store, team)
}

fn save(team: TeamId, name: &str, resources: &[&str]) -> SavePipeline {
    let resources = resources.iter();
    SavePipeline {
        team,
        name: name.into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("j")],
        resources: resources
            .map(|name| SaveResource::named(name, "mock"))
            .collect(),
        expected_version: None,
    }
}

async fn a_team_over_its_quota_of_pipelines_and_resources_is_told(database: TestDatabase) {
    let (store, team) = open(
        &database,
        &["pipelines=2", "resources=3", "other/pipelines=none"],
    )
    .await;
    store
        .save_pipeline(save(team, "a", &["r1", "r2"]))
        .await
        .unwrap();
    let refused = store.save_pipeline(save(team, "b", &["r1", "r2"])).await;
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("its quota of resources: the limit is 3") && words.contains("pipeline a 2"),
        "{words}"
    );
    assert!(store.pipeline(team, "b").await.unwrap().is_none());
    store.save_pipeline(save(team, "b", &["r1"])).await.unwrap();
    let refused = store.save_pipeline(save(team, "c", &[])).await.unwrap_err();
    assert!(matches!(refused, Error::Quota(_)), "{refused}");
    assert!(
        refused
            .to_string()
            .contains("quota of pipelines: the limit is 2"),
        "{refused}"
    );
    // What is there may be set again, and other teams notice nothing.
    store
        .save_pipeline(save(team, "a", &["r1", "r2"]))
        .await
        .unwrap();
    let uses = store.quota_uses().await.unwrap();
    let used: Vec<_> = uses
        .iter()
        .map(|each| (each.quota, each.used, each.limit))
        .collect();
    assert_eq!(used, [(Quota::Pipelines, 2, 2), (Quota::Resources, 3, 3)]);
    let lower = store.with_quotas(Quotas::from_iter(["pipelines=1".parse().unwrap()]));
    lower.save_pipeline(save(team, "a", &["r1"])).await.unwrap();
}

async fn logs_are_counted_until_they_are_removed(database: TestDatabase) {
    let (store, team) = open(&database, &["logs=100"]).await;
    let pipeline = store
        .save_pipeline(save(team, "p", &[]))
        .await
        .unwrap()
        .pipeline
        .id;
    let (one, two) = (ended(&store, pipeline).await, ended(&store, pipeline).await);
    assert_eq!(
        store.quota_room(team, Quota::Logs).await.unwrap(),
        Some(100)
    );
    store.note_log_size(one, 10).await.unwrap();
    store.note_log_size(one, 60).await.unwrap();
    store.note_log_size(two, 30).await.unwrap();
    assert_eq!(store.quota_room(team, Quota::Logs).await.unwrap(), Some(10));
    assert_eq!(store.over_quota(team, Quota::Logs, 10).await.unwrap(), None);
    let over = store
        .over_quota(team, Quota::Logs, 11)
        .await
        .unwrap()
        .unwrap();
    let users = [("p/j #1".to_owned(), 60), ("p/j #2".to_owned(), 30)];
    assert_eq!(over.users, users);
    store.reap_builds(&[one]).await.unwrap();
    assert_eq!(store.quota_room(team, Quota::Logs).await.unwrap(), Some(70));
    store.destroy_pipeline(pipeline).await.unwrap();
    while store.collect_destroyed(10).await.unwrap().rows > 0 {}
    assert_eq!(
        store.quota_room(team, Quota::Logs).await.unwrap(),
        Some(100)
    );
}

async fn ended(store: &Store, pipeline: PipelineId) -> airside_model::BuildId {
    let job = store.job(pipeline, "j").await.unwrap().unwrap().id;
    let created_by = None;
    let build = store
        .create_build(NewBuild { job, created_by })
        .await
        .unwrap();
    let minute = Duration::from_secs(60);
    let lease = store.take_build(build.id, "me", "here", minute).await;
    let lease = lease.unwrap().unwrap();
    let plan = Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()));
    store.start_build(&lease, &plan).await.unwrap();
    store
        .finish_build(&lease, BuildStatus::Succeeded)
        .await
        .unwrap();
    store.log_closed(build.id).await.unwrap();
    build.id
}

async fn volumes_are_counted_until_they_are_removed(database: TestDatabase) {
    let (store, team) = open(&database, &["volumes=1KiB"]).await;
    let volume = |name: &str| VolumeId(name.to_owned());
    store.announce_artifact(team, &volume("a")).await.unwrap();
    let unmeasured = store.unmeasured_volumes(&[volume("a"), volume("b")]).await;
    assert_eq!(unmeasured.unwrap(), [(volume("a"), team)]);
    store
        .note_volume_size(team, &volume("a"), 1000)
        .await
        .unwrap();
    assert_eq!(store.unmeasured_volumes(&[volume("a")]).await.unwrap(), []);
    assert_eq!(
        store.over_quota(team, Quota::Volumes, 24).await.unwrap(),
        None
    );
    let over = store
        .over_quota(team, Quota::Volumes, 25)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(over.users, [("uploads".to_owned(), 1000)]);
    store
        .note_volume_size(team, &volume("b"), 24)
        .await
        .unwrap();
    assert_eq!(store.forget_sizes_but_of(&[volume("a")]).await.unwrap(), 1);
    store.forget_volume(&volume("a")).await.unwrap();
    assert_eq!(
        store.quota_room(team, Quota::Volumes).await.unwrap(),
        Some(1024)
    );
}

async fn versions_beyond_the_quota_are_forgotten_oldest_first(database: TestDatabase) {
    let (store, team) = open(&database, &["versions=3"]).await;
    let pipeline = store
        .save_pipeline(save(team, "p", &["r"]))
        .await
        .unwrap()
        .pipeline
        .id;
    let resource = store.resource(pipeline, "r").await.unwrap().unwrap().id;
    let version = |number: u64| (Version::from([("v", number.to_string())]), Vec::new());
    let found = async |numbers: std::ops::Range<u64>| {
        let from = store.check_from(resource).await.unwrap().unwrap();
        let versions: Vec<_> = numbers.map(version).collect();
        store
            .save_versions(resource, &from, &versions)
            .await
            .unwrap()
    };
    // Of an answer as many as may be kept; the others are not even new.
    assert!(matches!(found(0..10).await, crate::SavedVersions::Saved(saved) if saved.len() == 3));
    assert_eq!(found(0..10).await, crate::SavedVersions::NothingNew);
    found(10..12).await;
    assert_eq!(store.collect_versions_beyond_quota(10).await.unwrap(), 2);
    assert_eq!(store.collect_versions_beyond_quota(10).await.unwrap(), 0);
    let uses = store.quota_uses().await.unwrap();
    assert_eq!((uses[0].used, uses[0].limit), (3, 3));
    let latest = store.latest_version(resource).await.unwrap().unwrap().1;
    assert_eq!(latest, version(11).0);
}
