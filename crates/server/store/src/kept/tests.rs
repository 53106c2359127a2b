use airside_model::{PlanId, StepKind, StepLabels, VolumeId, WorkerName};
use serde_json::json;

use super::*;
use crate::{
    Claimant, ContainerFilter, Lease, NewBuild, NewPlacement, OneOff, SaveJob, SavePipeline, Team,
    testing::{TestDatabase, is_known},
};

crate::on_both_databases!(
    a_build_that_did_not_succeed_keeps_its_claimed_containers,
    a_later_build_supersedes,
    volumes_stay_with_kept_containers_and_artifacts,
    artifacts_belong_to_their_team_and_expire,
);

struct Fixture {
    store: Store,
    team: Team,
    job: JobId,
}

async fn fixture(database: &TestDatabase) -> Fixture {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let pipeline = SavePipeline {
        instance_vars: Default::default(),
        team: team.id,
        name: "p".into(),
        config: json!({}),
        jobs: vec![SaveJob::named("j")],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = store.save_pipeline(pipeline).await.unwrap().pipeline;
    let job = store.job(pipeline.id, "j").await.unwrap().unwrap().id;
    Fixture { store, team, job }
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

    async fn lease(&self, build: BuildId) -> Lease {
        let taken = self.store.take_build(build, "me", "here", HIJACK_GRACE);
        taken.await.unwrap().unwrap()
    }

    /// A container that is created and claimed, but for those whose names say otherwise.
    async fn container(&self, lease: &Lease, name: &str) -> Handle {
        let handle = Handle::new(format!("{}-{name}", lease.build));
        let labels = StepLabels {
            team: "main".into(),
            team_id: airside_model::TeamId(1),
            pipeline: None,
            job: None,
            build: lease.build,
            build_name: "1".into(),
            step: name.into(),
            kind: StepKind::Task,
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
            dir: "/work",
            user: "ann",
            request: &json!({"secret": 1}),
        };
        self.store.create_placement(lease, new).await.unwrap();
        self.store
            .placement_created(lease, &handle, None)
            .await
            .unwrap();
        if name != "unclaimed" {
            assert!(self.claim(&handle).await);
        }
        handle
    }

    async fn claim(&self, handle: &Handle) -> bool {
        let claimant = Claimant {
            handle,
            token_hash: "token",
            instance: "i",
            session_hash: "s",
        };
        self.store.claim(claimant).await.unwrap()
    }

    async fn kept(&self) -> Vec<String> {
        let kept = self.store.kept_containers().await.unwrap();
        kept.into_iter()
            .map(|kept| kept.container.handle.0)
            .collect()
    }
}

async fn a_build_that_did_not_succeed_keeps_its_claimed_containers(database: TestDatabase) {
    let fixture = fixture(&database).await;
    let store = &fixture.store;
    for (status, kept) in [
        (BuildStatus::Failed, vec!["task"]),
        (BuildStatus::Errored, vec!["task"]),
        (BuildStatus::Aborted, vec!["task"]),
        (BuildStatus::Succeeded, vec![]),
    ] {
        let lease = fixture.build().await;
        let handle = fixture.container(&lease, "task").await;
        let unclaimed = fixture.container(&lease, "unclaimed").await;
        let lost = fixture.container(&lease, "lost").await;
        assert!(store.keep_container(&handle).await.unwrap());
        assert!(!store.keep_container(&unclaimed).await.unwrap());
        let request = store.placement_request::<serde_json::Value>(&handle).await;
        assert_eq!(request.unwrap(), None, "nothing secret is needed any more");
        store.finish_build(&lease, status).await.unwrap();
        let expected: Vec<_> = kept
            .iter()
            .map(|name| format!("{}-{name}", lease.build))
            .collect();
        assert_eq!(fixture.kept().await, expected, "{status}");
        assert_eq!(fixture.claim(&handle).await, !kept.is_empty());
        assert!(!fixture.claim(&lost).await, "nobody kept it");
        let container = store.container(&handle).await.unwrap().unwrap();
        assert_eq!(
            (container.dir.as_str(), container.user.as_str()),
            ("/work", "ann")
        );
        store.doom_container(&handle).await.unwrap();
    }
    // A user who intercepts is not thrown out.
    let lease = fixture.build().await;
    let handle = fixture.container(&lease, "task").await;
    store.keep_container(&handle).await.unwrap();
    store.container_hijacked(&handle).await.unwrap();
    store
        .finish_build(&lease, BuildStatus::Succeeded)
        .await
        .unwrap();
    let kept = store.kept_containers().await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].status, BuildStatus::Succeeded);
    assert!(kept[0].container.hijacked_at.is_some());
}

async fn a_later_build_supersedes(database: TestDatabase) {
    let fixture = fixture(&database).await;
    let store = &fixture.store;
    let superseded = async || {
        let kept = store.kept_containers().await.unwrap();
        kept.iter().map(|kept| kept.superseded).collect::<Vec<_>>()
    };
    let first = fixture.build().await;
    let handle = fixture.container(&first, "task").await;
    store.keep_container(&handle).await.unwrap();
    let failed = BuildStatus::Failed;
    store.finish_build(&first, failed).await.unwrap();
    let second = fixture.build().await;
    assert_eq!(superseded().await, [false], "the next one only runs");
    store.finish_build(&second, failed).await.unwrap();
    assert_eq!(superseded().await, [true]);
    let filter = ContainerFilter::default();
    assert_eq!(store.containers(&filter).await.unwrap().len(), 1);
}

async fn volumes_stay_with_kept_containers_and_artifacts(database: TestDatabase) {
    let fixture = fixture(&database).await;
    let store = &fixture.store;
    let lease = fixture.build().await;
    let handle = fixture.container(&lease, "task").await;
    store.keep_container(&handle).await.unwrap();
    for name in ["plain", "offered"] {
        let volume = VolumeId::new(name);
        store
            .announce_volume(&lease, &volume, &handle, "/out")
            .await
            .unwrap();
    }
    for _ in 0..2 {
        store
            .offer_artifact(&lease, "out", &VolumeId::new("offered"))
            .await
            .unwrap();
    }
    store
        .finish_build(&lease, BuildStatus::Failed)
        .await
        .unwrap();
    assert_eq!(store.dead_volumes().await.unwrap(), []);
    assert_eq!(store.volumes_of_build(lease.build).await.unwrap(), []);
    store.doom_container(&handle).await.unwrap();
    assert_eq!(
        store.dead_volumes().await.unwrap(),
        [VolumeId::new("plain")]
    );
    let artifacts = store.build_artifacts(lease.build).await.unwrap();
    assert_eq!(artifacts.len(), 1);
    assert_eq!(artifacts[0].name, "out");
    let listed = store.team_volumes(fixture.team.id).await.unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].worker, Some(WorkerName::new("w")));
    store
        .expire_artifacts(now().plus(HIJACK_GRACE), 10)
        .await
        .unwrap();
    assert_eq!(store.dead_volumes().await.unwrap().len(), 2);
}

async fn artifacts_belong_to_their_team_and_expire(database: TestDatabase) {
    let fixture = fixture(&database).await;
    let (store, team) = (&fixture.store, fixture.team.id);
    let volume = VolumeId::new("uploaded");
    let artifact = store.announce_artifact(team, &volume).await.unwrap();
    let id = artifact.id.0;
    assert!(is_known(store, &volume).await);
    assert_eq!(store.artifact(team, id).await.unwrap(), Some(artifact));
    let stranger = airside_model::TeamId(team.0 + 1);
    assert_eq!(store.artifact(stranger, id).await.unwrap(), None);

    let plan = serde_json::from_value(json!({"id": "1", "do": []})).unwrap();
    let one_off = OneOff {
        team,
        pipeline: None,
        created_by: Some("ann"),
        plan: &plan,
    };
    let build = store.create_one_off(one_off).await.unwrap();
    assert_eq!(build.name, build.id.to_string());
    assert_eq!(build.status, BuildStatus::Started);
    assert_eq!(store.build_plan(build.id).await.unwrap(), Some(plan));
    let lease = fixture.lease(build.id).await;
    assert!(store.use_artifact(&lease, id).await.unwrap().is_some());
    assert_eq!(store.use_artifact(&lease, id + 1).await.unwrap(), None);
    let later = now().plus(HIJACK_GRACE);
    assert_eq!(
        store.expire_artifacts(later, 10).await.unwrap(),
        0,
        "it is in use"
    );
    store
        .finish_build(&lease, BuildStatus::Succeeded)
        .await
        .unwrap();
    let long_ago = Micros(0);
    assert_eq!(
        store.expire_artifacts(long_ago, 10).await.unwrap(),
        0,
        "it is new"
    );
    assert_eq!(store.expire_artifacts(later, 10).await.unwrap(), 1);
    assert!(!is_known(store, &volume).await);
}
