use airside_model::{
    BuildStatus, Handle, JobId, PipelineId, Plan, PlanId, PlanNode, StepKind, StepLabels,
    WorkerName,
};
use serde_json::json;

use super::*;
use crate::{
    NewBuild, NewPlacement, OneOff, SaveJob, SavePipeline, SaveResource, Team,
    testing::{TestDatabase, is_known},
};

crate::on_both_databases!(
    a_cache_is_found_by_its_team_and_outlives_its_build,
    the_latest_build_of_a_job_keeps_its_caches,
    one_off_builds_keep_caches_for_a_while,
    what_somebody_looked_into_is_not_found,
    the_first_of_two_counts,
    what_a_resource_fetched_can_be_forgotten,
);

fn owner(version: &Version) -> CacheOwner<'_> {
    let resource = "r";
    CacheOwner { resource, version }
}

struct Fixture {
    store: Store,
    team: Team,
    pipeline: PipelineId,
    job: JobId,
}

async fn fixture(store: &Store, team: Team) -> Fixture {
    let pipeline = SavePipeline {
        instance_vars: Default::default(),
        team: team.id,
        name: "p".into(),
        config: json!({}),
        jobs: vec![SaveJob::named("j")],
        resources: vec![SaveResource::named("r", "mock")],
        expected_version: None,
    };
    let pipeline = store.save_pipeline(pipeline).await.unwrap().pipeline;
    let job = store.job(pipeline.id, "j").await.unwrap().unwrap().id;
    Fixture {
        store: store.clone(),
        team,
        pipeline: pipeline.id,
        job,
    }
}

async fn main_team(database: &TestDatabase) -> Fixture {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    fixture(&store, team).await
}

impl Fixture {
    async fn build(&self) -> Lease {
        let new = NewBuild {
            job: self.job,
            created_by: None,
        };
        let build = self.store.create_build(new).await.unwrap();
        self.lease(build.id).await
    }

    async fn one_off(&self) -> Lease {
        let plan = Plan::new(PlanId::new("1"), PlanNode::Do(Vec::new()));
        let one_off = OneOff {
            team: self.team.id,
            pipeline: None,
            created_by: None,
            plan: &plan,
        };
        let build = self.store.create_one_off(one_off).await.unwrap();
        self.lease(build.id).await
    }

    async fn lease(&self, build: airside_model::BuildId) -> Lease {
        let minute = Duration::from_secs(60);
        let taken = self.store.take_build(build, "me", "here", minute).await;
        taken.unwrap().unwrap()
    }

    /// A container of the build with a volume that it filled.
    async fn fetched(&self, lease: &Lease, name: &str) -> (Handle, ResourceCache) {
        let handle = Handle::new(format!("{}-{name}", lease.build));
        let labels = StepLabels {
            team: "main".into(),
            team_id: airside_model::TeamId(1),
            pipeline: None,
            job: None,
            build: lease.build,
            build_name: "1".into(),
            step: name.into(),
            kind: StepKind::Get,
            attempt: 1,
            attempts: Vec::new(),
        };
        let new = NewPlacement {
            handle: &handle,
            plan: &PlanId::new(name),
            attempt: 1,
            placement: 1,
            worker: &WorkerName::new("w"),
            labels: &labels,
            token_hash: "token",
            dir: "/",
            user: "",
            request: &json!({}),
        };
        self.store.create_placement(lease, new).await.unwrap();
        let volume = VolumeId::new(format!("v-{handle}"));
        self.store
            .announce_volume(lease, &volume, &handle, "/tmp/build/get")
            .await
            .unwrap();
        let metadata = vec![MetadataField {
            name: "commit".into(),
            value: name.into(),
        }];
        (handle, ResourceCache { volume, metadata })
    }

    async fn save(&self, lease: &Lease, key: &str) -> ResourceCache {
        let (_, fetched) = self.fetched(lease, key).await;
        let version = Version::from([("v", key)]);
        let saved = self
            .store
            .save_resource_cache(lease, key, &fetched, owner(&version));
        assert!(saved.await.unwrap());
        fetched
    }

    async fn find(&self, lease: &Lease, key: &str) -> Option<ResourceCache> {
        let version = Version::from([("v", key)]);
        let found = self.store.use_resource_cache(lease, key, owner(&version));
        found.await.unwrap()
    }

    async fn end(&self, lease: &Lease) {
        let ended = self.store.finish_build(lease, BuildStatus::Succeeded);
        ended.await.unwrap();
    }

    /// Returns true if the volume is still known after a sweep in so many seconds.
    async fn survives(&self, cache: &ResourceCache, later: u64) -> bool {
        let then = now().plus(Duration::from_secs(later));
        self.store
            .collect_resource_caches_at(then, 2)
            .await
            .unwrap();
        let dead = self.store.dead_volumes().await.unwrap();
        is_known(&self.store, &cache.volume).await && !dead.contains(&cache.volume)
    }
}

async fn a_cache_is_found_by_its_team_and_outlives_its_build(database: TestDatabase) {
    let main = main_team(&database).await;
    let key = main.store.resource_cache_key("git, with a password");
    assert!(!key.contains("password") && !key.is_empty());
    let (maker, user) = (main.build().await, main.one_off().await);
    assert_eq!(main.find(&maker, &key).await, None);
    let kept = main.save(&maker, &key).await;
    assert_eq!(main.find(&user, &key).await.as_ref(), Some(&kept));
    assert_eq!(main.find(&user, "another").await, None);

    let (team, _) = main.store.save_team("other", &json!({})).await.unwrap();
    let other = fixture(&main.store, team).await;
    assert_eq!(other.find(&other.build().await, &key).await, None);

    // The pipeline goes, and its builds with it, while another build works with the volume.
    main.end(&maker).await;
    main.store.destroy_pipeline(main.pipeline).await.unwrap();
    assert!(main.survives(&kept, 0).await);
    let team = main.store.team_volumes(main.team.id).await.unwrap();
    assert_eq!(team.len(), 1, "{team:?}");
    assert_eq!(main.find(&user, &key).await.as_ref(), Some(&kept));
}

async fn the_latest_build_of_a_job_keeps_its_caches(database: TestDatabase) {
    let main = main_team(&database).await;
    let first = main.build().await;
    let old = main.save(&first, "one").await;
    main.end(&first).await;
    assert!(main.survives(&old, 3600).await);
    let second = main.build().await;
    let new = main.save(&second, "two").await;
    assert!(main.survives(&old, 3600).await);
    main.end(&second).await;
    // A cache that no build uses any more stays for a moment, in case a build has just found it.
    assert!(main.survives(&old, 0).await);
    assert!(!main.survives(&old, 120).await);
    assert!(main.survives(&new, 120).await);
    // With its builds goes the right to be found, before any sweep.
    main.store.destroy_pipeline(main.pipeline).await.unwrap();
    let later = main.one_off().await;
    assert_eq!(main.find(&later, "two").await, None);
    let again = main.save(&later, "two").await;
    assert_eq!(main.find(&later, "two").await, Some(again));
}

async fn one_off_builds_keep_caches_for_a_while(database: TestDatabase) {
    let main = main_team(&database).await;
    let build = main.one_off().await;
    let kept = main.save(&build, "one").await;
    main.end(&build).await;
    assert!(main.survives(&kept, 1800).await);
    assert!(!main.survives(&kept, 7200).await);
}

async fn what_somebody_looked_into_is_not_found(database: TestDatabase) {
    let main = main_team(&database).await;
    let build = main.build().await;
    let version = Version::from([("v", "1")]);
    let (early, fetched) = main.fetched(&build, "early").await;
    main.store.container_hijacked(&early).await.unwrap();
    let saved = main
        .store
        .save_resource_cache(&build, "early", &fetched, owner(&version));
    assert!(!saved.await.unwrap());
    assert_eq!(main.find(&build, "early").await, None);

    let (late, fetched) = main.fetched(&build, "late").await;
    let saved = main
        .store
        .save_resource_cache(&build, "late", &fetched, owner(&version));
    assert!(saved.await.unwrap());
    main.store.container_hijacked(&late).await.unwrap();
    assert_eq!(main.find(&build, "late").await, None);
    // A build that had found it before still has it.
    assert!(main.survives(&fetched, 3600).await);
}

async fn the_first_of_two_counts(database: TestDatabase) {
    let main = main_team(&database).await;
    let (first, second) = (main.build().await, main.build().await);
    let kept = main.save(&first, "one").await;
    let version = Version::from([("v", "1")]);
    let (_, same) = main.fetched(&second, "one").await;
    let saved = main
        .store
        .save_resource_cache(&second, "one", &same, owner(&version));
    assert!(!saved.await.unwrap());
    assert_eq!(main.find(&second, "one").await.as_ref(), Some(&kept));
    main.store
        .forget_resource_cache(&kept.volume)
        .await
        .unwrap();
    assert_eq!(main.find(&second, "one").await, None);
}

async fn what_a_resource_fetched_can_be_forgotten(database: TestDatabase) {
    let main = main_team(&database).await;
    let build = main.build().await;
    let kept = main.save(&build, "a").await;
    for key in ["b", "c"] {
        main.save(&build, key).await;
    }
    let resource = main.store.resource(main.pipeline, "r").await.unwrap();
    let resource = resource.unwrap().id;
    let clear = async |version: Option<Version>| {
        let cleared = main.store.clear_resource_caches(resource, version.as_ref());
        cleared.await.unwrap()
    };
    assert_eq!(clear(Some(Version::from([("v", "none")]))).await, 0);
    assert_eq!(clear(Some(Version::from([("v", "a")]))).await, 1);
    assert_eq!(main.find(&build, "a").await, None);
    // A build that uses it still has it.
    assert!(main.survives(&kept, 3600).await);
    assert!(main.find(&build, "b").await.is_some());
    assert_eq!(clear(None).await, 2);
    assert_eq!(clear(None).await, 0);
    assert_eq!(main.find(&build, "b").await, None);
}
