use airside_model::{BuildId, BuildStatus, Handle, PlanId, StepKind, StepLabels};
use serde_json::json;

use super::*;
use crate::{
    HIJACK_GRACE, InstanceVars, Lease, NewBuild, NewPlacement, OneOff, SaveJob, SavePipeline,
    testing::TestDatabase,
};

crate::on_both_databases!(
    what_operators_ask_for_is_done_or_refused,
    a_worker_that_leaves_is_drained_first,
    a_worker_does_not_wait_for_interruptible_jobs,
    starting_the_server_brings_back_what_is_started_with_it,
    an_agent_is_back_when_it_was_started_and_not_when_it_reconnects,
    what_was_kept_goes_with_its_worker,
    only_what_is_gone_is_forgotten,
);

use WorkerChange::{Delete, Land, Prune, Register, Retire};
use WorkerState::{Landed, Landing, Retired, Retiring, Running};

async fn with_worker(database: &TestDatabase, kind: WorkerKind) -> (Store, WorkerName) {
    let store = database.open().await;
    let worker = WorkerName::new("w");
    let state = store.register_worker(&worker, None, &[], kind).await;
    assert_eq!(state.unwrap(), Running);
    (store, worker)
}

async fn state_of(store: &Store, worker: &WorkerName) -> WorkerState {
    let states = store.worker_states().await.unwrap();
    states
        .into_iter()
        .find(|(name, _)| name == worker)
        .unwrap()
        .1
}

/// A step that runs on the worker.
async fn step(store: &Store, worker: &WorkerName) -> (Lease, Handle) {
    let build = one_off(store).await;
    step_of(store, worker, build).await
}

async fn one_off(store: &Store) -> BuildId {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let plan = serde_json::from_value(json!({"id": "1", "do": []})).unwrap();
    let one_off = OneOff {
        team: team.id,
        pipeline: None,
        created_by: None,
        plan: &plan,
    };
    store.create_one_off(one_off).await.unwrap().id
}

/// A build of a job with this outline.
async fn of_job(store: &Store, outline: &serde_json::Value) -> BuildId {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let save = SavePipeline {
        team: team.id,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::new("j", outline)],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = store.save_pipeline(save).await.unwrap().pipeline.id;
    let job = store.job(pipeline, "j").await.unwrap().unwrap().id;
    let new = NewBuild {
        job,
        created_by: None,
    };
    store.create_build(new).await.unwrap().id
}

async fn step_of(store: &Store, worker: &WorkerName, build: BuildId) -> (Lease, Handle) {
    let lease = store.take_build(build, "me", "here", HIJACK_GRACE).await;
    let lease = lease.unwrap().unwrap();
    let labels = StepLabels {
        team: "main".into(),
        team_id: airside_model::TeamId(1),
        pipeline: None,
        job: None,
        build,
        build_name: "1".into(),
        step: "s".into(),
        kind: StepKind::Task,
        attempt: 1,
        attempts: Vec::new(),
    };
    let handle = Handle::new(format!("h-{build}"));
    let new = NewPlacement {
        handle: &handle,
        plan: &PlanId::new("1"),
        attempt: 1,
        placement: 1,
        worker,
        labels: &labels,
        token_hash: "token",
        dir: "",
        user: "",
        request: &json!({}),
    };
    store.create_placement(&lease, new).await.unwrap();
    (lease, handle)
}

async fn done(store: &Store, lease: &Lease) {
    let (plan, outcome, none) = (PlanId::new("1"), json!({}), None::<&serde_json::Value>);
    let saved = store.save_outcome(lease, &plan, &outcome, none, now());
    saved.await.unwrap();
}

async fn what_operators_ask_for_is_done_or_refused(database: TestDatabase) {
    let (store, worker) = with_worker(&database, WorkerKind::Kubernetes).await;
    use WorkerChanged::{Done, Unknown};
    // Each: from what, what is asked, what comes of it.
    for (from, change, outcome, to) in [
        (Running, Land, Done, Landing),
        (Landing, Land, Done, Landing),
        (Landed, Land, Done, Landed),
        (Retired, Land, Unknown, Retired),
        (Landed, Retire, Done, Retiring),
        (Retired, Retire, Unknown, Retired),
        (Running, Prune, WorkerChanged::Running, Running),
        (Landing, Prune, Done, Retired),
        (Landed, Prune, Done, Retired),
        (Retiring, Prune, Done, Retired),
        (Retired, Prune, Unknown, Retired),
        (Running, Delete, Done, Retired),
        (Retired, Delete, Unknown, Retired),
        (Landed, Register, Done, Running),
        (Retiring, Register, Done, Running),
        (Retired, Register, Done, Running),
    ] {
        query(crate::db::Sql::built(
            "UPDATE workers SET state = $1".to_owned(),
        ))
        .bind(from.as_str())
        .execute(&store.write)
        .await
        .unwrap();
        let changed = store.change_worker(&worker, change).await.unwrap();
        let found = (changed, state_of(&store, &worker).await);
        assert_eq!(found, (outcome, to), "{change:?} of one that is {from}");
        let listed = store.workers().await.unwrap().len();
        assert_eq!(listed, usize::from(to != Retired), "{to}");
    }
    let nobody = WorkerName::new("nobody");
    for change in [Land, Retire, Prune, Delete, Register] {
        let changed = store.change_worker(&nobody, change).await.unwrap();
        assert_eq!(changed, Unknown, "{change:?}");
    }
}

async fn a_worker_that_leaves_is_drained_first(database: TestDatabase) {
    let (store, worker) = with_worker(&database, WorkerKind::Local).await;
    for (change, during, after) in [(Land, Landing, Landed), (Retire, Retiring, Retired)] {
        store.change_worker(&worker, Register).await.unwrap();
        let (lease, _) = step(&store, &worker).await;
        store.change_worker(&worker, change).await.unwrap();
        assert_eq!(store.settle_workers().await.unwrap(), []);
        assert_eq!(state_of(&store, &worker).await, during);
        done(&store, &lease).await;
        let settled = store.settle_workers().await.unwrap();
        assert_eq!(settled, [(worker.clone(), after)]);
        assert_eq!(store.settle_workers().await.unwrap(), [], "once");
    }
}

async fn a_worker_does_not_wait_for_interruptible_jobs(database: TestDatabase) {
    let (store, worker) = with_worker(&database, WorkerKind::Kubernetes).await;
    let version = |value: serde_json::Value| json!({"inputs": [{"version": value}]});
    for (outline, waits) in [
        (json!({"interruptible": true}), false),
        (json!({}), true),
        // What only looks like it.
        (version(json!({"interruptible": "true"})), true),
        (version(json!({"v": "\"interruptible\":true"})), true),
    ] {
        store.change_worker(&worker, Register).await.unwrap();
        let build = of_job(&store, &outline).await;
        let (lease, _) = step_of(&store, &worker, build).await;
        store.change_worker(&worker, Land).await.unwrap();
        let settled = store.settle_workers().await.unwrap();
        assert_eq!(settled.is_empty(), waits, "{outline}");
        done(&store, &lease).await;
        store.settle_workers().await.unwrap();
        assert_eq!(state_of(&store, &worker).await, Landed);
    }
}

async fn starting_the_server_brings_back_what_is_started_with_it(database: TestDatabase) {
    let (store, local) = with_worker(&database, WorkerKind::Local).await;
    let cluster = WorkerName::new("k");
    let register = async |worker, kind| {
        let registered = store.register_worker(worker, None, &[], kind).await;
        registered.unwrap()
    };
    register(&cluster, WorkerKind::Kubernetes).await;
    for change in [Land, Retire] {
        for worker in [&local, &cluster] {
            store.change_worker(worker, Register).await.unwrap();
            store.change_worker(worker, change).await.unwrap();
        }
        store.settle_workers().await.unwrap();
        let left = state_of(&store, &cluster).await;
        assert_eq!(register(&local, WorkerKind::Local).await, Running);
        assert_eq!(register(&cluster, WorkerKind::Kubernetes).await, left);
    }
    let (lease, _) = step(&store, &local).await;
    store.change_worker(&local, Land).await.unwrap();
    assert_eq!(
        register(&local, WorkerKind::Local).await,
        Landing,
        "a step runs"
    );
    done(&store, &lease).await;
    assert_eq!(register(&local, WorkerKind::Local).await, Running);
}

async fn an_agent_is_back_when_it_was_started_and_not_when_it_reconnects(database: TestDatabase) {
    let (store, agent) = with_worker(&database, WorkerKind::Agent).await;
    let arrive = async |arrival| {
        let kind = WorkerKind::Agent;
        let arrived = store.register_arrival(&agent, None, &[], kind, arrival);
        arrived.await.unwrap()
    };
    for (change, left) in [(Land, Landed), (Delete, Retired)] {
        store.change_worker(&agent, change).await.unwrap();
        store.settle_workers().await.unwrap();
        assert_eq!(arrive(WorkerArrival::There).await, left);
        assert_eq!(store.agents().await.unwrap().len(), 1, "{left:?}");
        assert_eq!(arrive(WorkerArrival::Started).await, Running);
    }
    let (_, _) = step(&store, &agent).await;
    store.change_worker(&agent, Land).await.unwrap();
    assert_eq!(arrive(WorkerArrival::Started).await, Landing, "a step runs");
}

async fn what_was_kept_goes_with_its_worker(database: TestDatabase) {
    let (store, worker) = with_worker(&database, WorkerKind::Local).await;
    let (lease, handle) = step(&store, &worker).await;
    store
        .placement_created(&lease, &handle, None)
        .await
        .unwrap();
    let claimant = crate::Claimant {
        handle: &handle,
        token_hash: "token",
        instance: "i",
        session_hash: "s",
    };
    assert!(store.claim(claimant).await.unwrap());
    assert!(store.keep_container(&handle).await.unwrap());
    done(&store, &lease).await;
    store
        .finish_build(&lease, BuildStatus::Failed)
        .await
        .unwrap();
    store.change_worker(&worker, Land).await.unwrap();
    store.settle_workers().await.unwrap();
    assert_eq!(
        store.kept_containers().await.unwrap().len(),
        1,
        "it is there"
    );
    store.change_worker(&worker, Prune).await.unwrap();
    store.settle_workers().await.unwrap();
    assert_eq!(store.kept_containers().await.unwrap(), []);
}

async fn only_what_is_gone_is_forgotten(database: TestDatabase) {
    let (store, worker) = with_worker(&database, WorkerKind::Kubernetes).await;
    store.forget_worker(&worker).await.unwrap();
    assert_eq!(state_of(&store, &worker).await, Running);
    store.change_worker(&worker, Delete).await.unwrap();
    store.forget_worker(&worker).await.unwrap();
    assert_eq!(store.worker_states().await.unwrap(), []);
    let again = store.register_worker(&worker, None, &[], WorkerKind::Kubernetes);
    assert_eq!(
        again.await.unwrap(),
        Running,
        "as if it had never been here"
    );
}
