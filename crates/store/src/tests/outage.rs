//! Postgres is stopped and started again while we work.

use std::time::Duration;

use airside_model::{BuildStatus, PlanId};
use serde_json::{Value, json};

use crate::{InstanceVars, NewBuild, SaveJob, SavePipeline, Store, testing::TestDatabase};

async fn with_job(store: &Store) -> airside_model::JobId {
    let team = store.ensure_main_team(&json!({})).await.unwrap();
    let save = SavePipeline {
        team: team.id,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({}),
        jobs: vec![SaveJob::named("job")],
        resources: Vec::new(),
        expected_version: None,
    };
    let pipeline = store.save_pipeline(save).await.unwrap().pipeline;
    store.jobs(pipeline.id).await.unwrap()[0].id
}

/// With the settings that every server has: ten seconds are waited for.
#[tokio::test]
async fn a_build_loses_nothing_to_a_server_that_is_away_for_ten_seconds() {
    let database = TestDatabase::own_postgres();
    let store = database.open().await;
    let job = with_job(&store).await;
    let new = NewBuild {
        job,
        created_by: None,
    };
    let build = store.create_build(new).await.unwrap().id;
    let minute = Duration::from_secs(60);
    let lease = store.take_build(build, "me", "here", minute).await.unwrap();
    let lease = lease.unwrap();
    let plan = serde_json::from_value(json!({"id": "1", "do": []})).unwrap();
    store.start_build(&lease, &plan).await.unwrap();

    // Writes all the time, before, during and after, as the steps of a build do.
    let writer = tokio::spawn({
        let (store, lease) = (store.clone(), lease.clone());
        async move {
            let mut written = 0;
            loop {
                let plan = PlanId::new(written.to_string());
                let outcome = json!({"number": written});
                store
                    .save_outcome(&lease, &plan, &outcome, None::<&Value>, crate::now())
                    .await
                    .unwrap();
                let read = store.outcome::<Value, Value>(build, &plan).await;
                assert_eq!(read.unwrap(), Some((outcome, None)));
                written += 1;
                if store.build(build).await.unwrap().unwrap().aborted {
                    return written;
                }
            }
        }
    });
    database.stop_server().await;
    // No condition to wait for: that so long an outage is borne is what this tests.
    tokio::time::sleep(Duration::from_secs(10)).await;
    database.start_server().await;
    store.request_abort(build).await.unwrap();
    let written = writer.await.unwrap();
    for number in 0..written {
        let plan = PlanId::new(number.to_string());
        let read = store.outcome::<Value, Value>(build, &plan).await;
        assert_eq!(read.unwrap(), Some((json!({"number": number}), None)));
    }
    store
        .finish_build(&lease, BuildStatus::Succeeded)
        .await
        .unwrap();
}
