//! Caches, and the beginnings and outcomes of nodes that go with them.

use std::time::Duration;

use airside_model::{BuildStatus, Handle, JobId, PlanId, VolumeId};
use serde_json::{Value, json};

use crate::{
    Error, InstanceVars, Lease, NamedTaskCache, NewBuild, Parent, SaveJob, SavePipeline, Store,
    TaskCache, now, testing::TestDatabase,
};

crate::on_both_databases!(
    the_newest_cache_counts_and_older_ones_go,
    a_cache_from_elsewhere_is_found_like_any_other,
    a_node_settles_once,
    what_is_hidden_is_sealed,
    a_newer_build_has_the_last_word_about_a_pipeline,
);

fn pipeline(team: airside_model::TeamId, name: &str) -> SavePipeline {
    SavePipeline {
        team,
        name: name.to_owned(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("j")],
        resources: Vec::new(),
        expected_version: None,
    }
}

async fn job(store: &Store) -> JobId {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let saved = store.save_pipeline(pipeline(team.id, "p")).await.unwrap();
    store.job(saved.pipeline.id, "j").await.unwrap().unwrap().id
}

async fn build(store: &Store, job: JobId) -> Lease {
    let new = NewBuild {
        job,
        created_by: None,
    };
    let build = store.create_build(new).await.unwrap();
    let minute = Duration::from_secs(60);
    let taken = store.take_build(build.id, "me", "here", minute).await;
    taken.unwrap().unwrap()
}

async fn volume(store: &Store, lease: &Lease, name: &str) -> VolumeId {
    let (id, handle) = (VolumeId::new(name), Handle::new("s-1"));
    store
        .announce_volume(lease, &id, &handle, "/c")
        .await
        .unwrap();
    id
}

async fn a_cache_from_elsewhere_is_found_like_any_other(database: TestDatabase) {
    let store = database.open().await;
    let job = job(&store).await;
    let lease = build(&store, job).await;
    let cache = |path: &str, expires_at| NamedTaskCache {
        job: "j".to_owned(),
        step: "t".to_owned(),
        path: path.to_owned(),
        volume: VolumeId::new(format!("v-{path}")),
        expires_at,
    };
    let (kept, old) = (cache("a", None), cache("b", Some(crate::Micros(1))));
    for cache in [&kept, &old] {
        store
            .seed_task_cache(lease.build, job, cache)
            .await
            .unwrap();
    }
    let pipeline = store.pipelines(None).await.unwrap()[0].id;
    let found = store.use_task_cache(&lease, job, "t", "a").await.unwrap();
    assert_eq!(found, Some(kept.volume.clone()));
    let found = store.use_task_cache(&lease, job, "t", "b").await.unwrap();
    assert_eq!(found, None, "it is over");
    assert_eq!(store.task_caches(pipeline).await.unwrap(), [kept, old]);
}

async fn the_newest_cache_counts_and_older_ones_go(database: TestDatabase) {
    let store = database.open().await;
    let job = job(&store).await;
    let first = build(&store, job).await;
    let one = volume(&store, &first, "v-1").await;
    let cache = |volume, ttl| TaskCache {
        path: "c",
        volume,
        ttl,
    };
    let find = async |lease: &Lease| store.use_task_cache(lease, job, "t", "c").await.unwrap();
    assert_eq!(find(&first).await, None);
    store
        .save_task_caches(&first, job, "t", &[cache(&one, None)])
        .await
        .unwrap();
    store
        .finish_build(&first, BuildStatus::Succeeded)
        .await
        .unwrap();
    assert_eq!(store.dead_volumes().await.unwrap(), []);
    assert_eq!(store.volumes_of_build(first.build).await.unwrap(), []);

    let (second, third) = (build(&store, job).await, build(&store, job).await);
    assert_eq!(find(&second).await.as_ref(), Some(&one));
    let two = volume(&store, &third, "v-2").await;
    store
        .save_task_caches(&third, job, "t", &[cache(&two, None)])
        .await
        .unwrap();
    assert_eq!(find(&third).await, Some(two.clone()));
    // The second build still uses the older one.
    assert_eq!(store.dead_volumes().await.unwrap(), []);
    store
        .finish_build(&second, BuildStatus::Failed)
        .await
        .unwrap();
    assert_eq!(
        store.dead_volumes().await.unwrap(),
        std::slice::from_ref(&one)
    );

    assert_eq!(
        store
            .clear_task_caches(job, "t", Some("other"))
            .await
            .unwrap(),
        0
    );
    assert_eq!(store.clear_task_caches(job, "t", None).await.unwrap(), 1);
    assert_eq!(find(&third).await, None);
    let past = Some(Duration::ZERO);
    store
        .save_task_caches(&third, job, "t", &[cache(&two, past)])
        .await
        .unwrap();
    assert_eq!(find(&third).await, None);
    assert_eq!(store.collect_task_caches(10).await.unwrap(), 1);
}

async fn a_node_settles_once(database: TestDatabase) {
    let store = database.open().await;
    let lease = build(&store, job(&store).await).await;
    let plan = PlanId::new("a/0/1");
    let none: Option<Value> = store.settled(lease.build, &plan).await.unwrap();
    assert_eq!(none, None);
    let (at, first) = store
        .begin_node(&lease, &plan, Some(json!(["x"])))
        .await
        .unwrap();
    let (again, second) = store
        .begin_node(&lease, &plan, Some(json!(["y"])))
        .await
        .unwrap();
    assert_eq!((at, first), (again, second.clone()));
    assert_eq!(second, Some(json!(["x"])));
    assert_eq!(
        store.settled(lease.build, &plan).await.unwrap(),
        Some(json!(["x"]))
    );
    let stale = Lease {
        epoch: lease.epoch - 1,
        ..lease
    };
    let refused = store.begin_node::<Value>(&stale, &plan, None).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })));
}

async fn what_is_hidden_is_sealed(database: TestDatabase) {
    let store = database.open().await;
    let lease = build(&store, job(&store).await).await;
    let (plan, outcome, hidden) = (
        PlanId::new("1"),
        json!({"status": "x"}),
        json!({"k": "secret"}),
    );
    store
        .save_outcome(&lease, &plan, &outcome, Some(&hidden), now())
        .await
        .unwrap();
    let read: Option<(Value, Option<Value>)> = store.outcome(lease.build, &plan).await.unwrap();
    assert_eq!(read, Some((outcome, Some(hidden))));
}

async fn a_newer_build_has_the_last_word_about_a_pipeline(database: TestDatabase) {
    let store = database.open().await;
    let job = job(&store).await;
    let team = store.team("main").await.unwrap().unwrap().id;
    let (old, new) = (
        build(&store, job).await.build,
        build(&store, job).await.build,
    );
    let save = async |build| {
        let parent = Parent { job, build };
        store
            .save_child_pipeline(pipeline(team, "child"), parent)
            .await
    };
    let saved = save(new).await.unwrap();
    assert!(saved.created && !saved.pipeline.paused);
    assert!(matches!(save(old).await, Err(Error::SetByNewerBuild)));
    let id = saved.pipeline.id;
    store
        .set_pipeline_parent(id, Parent { job, build: old })
        .await
        .unwrap();
    let parent = store.pipeline_parent(id).await.unwrap();
    assert_eq!(parent, Some(Parent { job, build: new }));
    // A user who sets it by hand owns it from then on.
    store.save_pipeline(pipeline(team, "child")).await.unwrap();
    assert_eq!(store.pipeline_parent(id).await.unwrap(), None);
}
