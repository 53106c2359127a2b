//! Postgres is stopped and started again while we work; a disk is full.

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

/// A store with the settings that every server has: it waits ten seconds.
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
    let begun = tokio::time::Instant::now();
    database.stop_server().await;
    // No condition to wait for: that so long an outage is borne is what this tests.
    tokio::time::sleep_until(begun + Duration::from_secs(10)).await;
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

/// A small file system of the test's own, gone with it.
struct SmallDisk(tempfile::TempDir);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut umount = std::process::Command::new("umount");
        let _ = umount.arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn nobody_holds_a_lease_that_a_full_disk_did_not_take() {
    let disk = SmallDisk(tempfile::tempdir().unwrap());
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=2m", "disk"]);
    let mounted = mount.arg(disk.0.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let dir = tempfile::tempdir_in(disk.0.path()).unwrap();
    let database = TestDatabase::sqlite_in(dir);
    let store = database.open().await;
    let new = NewBuild {
        job: with_job(&store).await,
        created_by: None,
    };
    let build = store.create_build(new).await.unwrap().id;
    let mut filler = std::fs::File::create(disk.0.path().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[b'x'; 512]).is_ok() {}
    // The log beside the file has room for a while.
    let minute = Duration::from_secs(60);
    let mut epoch = 0;
    loop {
        match store.take_build(build, "me", "here", minute).await {
            Ok(lease) => {
                let taken = lease.unwrap().epoch;
                assert_eq!(taken, epoch + 1, "an epoch was given out that never was");
                epoch = taken;
            }
            Err(error) => {
                assert!(error.is_out_of_space(), "{error:?}");
                break;
            }
        }
    }
    drop(filler);
    std::fs::remove_file(disk.0.path().join("filler")).unwrap();
    let lease = store.take_build(build, "me", "here", minute).await;
    let lease = lease.unwrap().unwrap();
    assert_eq!(lease.epoch, epoch + 1);
    store.renew_lease(&lease, minute).await.unwrap();
}
