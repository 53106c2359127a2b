//! A pipeline that is destroyed leaves nothing behind.

use airside_gc::Keep;
use airside_model::{BuildStatus, Version};
use airside_store::testing::TestDatabase;

use crate::stage::{Leaves, Stage};

const BUILDS: usize = 200;

async fn a_destroyed_pipeline_leaves_nothing(database: TestDatabase) {
    let stage = Stage::new(database, Keep::default()).await;
    let other = stage.pipeline("other", 1, 1, 0).await;
    let leaves = Leaves {
        status: BuildStatus::Succeeded,
        input: None,
        bytes: 100,
    };
    stage.build(other.jobs[0], &leaves).await;
    stage.collect().await;
    let before = stage.database.rows().await;

    let line = stage.pipeline("p", 4, 2, 0).await;
    let version = Version::from([("v", "1")]);
    stage.find(line.resources[0], &version).await;
    for number in 0..BUILDS {
        let leaves = Leaves {
            status: [BuildStatus::Succeeded, BuildStatus::Failed][number % 2],
            input: Some((line.resources[0], &version)),
            bytes: 100,
        };
        stage.build(line.jobs[number % 4], &leaves).await;
    }
    stage.failed_check(&line, line.resources[1]).await;
    let unfinished = stage.begin(line.jobs[0], None).await;
    stage.seal(&unfinished, "of-a-running-build", 100).await;
    assert_eq!(stage.logs_on_disk(), BUILDS + 2);
    stage.collect().await;
    // No limit was given, so all of it is still there, but for outputs that no step reads again.
    assert_eq!(stage.logs_on_disk(), BUILDS + 2);
    assert_eq!(stage.volumes.list().unwrap().len(), 1 + 4 + 1);

    stage.store.destroy_pipeline(line.pipeline).await.unwrap();
    stage.collect().await;
    assert_eq!(stage.database.rows().await, before);
    assert_eq!(stage.logs_on_disk(), 1);
    assert_eq!(stage.volumes.list().unwrap().len(), 1);
}

#[tokio::test]
async fn a_destroyed_pipeline_leaves_nothing_sqlite() {
    a_destroyed_pipeline_leaves_nothing(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_destroyed_pipeline_leaves_nothing_postgres() {
    a_destroyed_pipeline_leaves_nothing(TestDatabase::postgres().await).await;
}

/// The loop itself hears of it.
#[tokio::test]
async fn the_loop_acts_on_what_happens() {
    let stage = Stage::new(TestDatabase::sqlite(), Keep::default()).await;
    let line = stage.pipeline("p", 1, 0, 1).await;
    let leaves = Leaves {
        status: BuildStatus::Succeeded,
        input: None,
        bytes: 100,
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(stage.collector.clone().run(stop.clone()));
    let mut builds = Vec::new();
    for _ in 0..3 {
        builds.push(stage.build(line.jobs[0], &leaves).await);
    }
    let until = async |what: &str, done: &dyn Fn() -> bool| {
        let minute = std::time::Duration::from_secs(60);
        let waited = tokio::time::timeout(minute, async {
            while !done() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what}");
    };
    until("old logs go", &|| stage.logs_on_disk() == 1).await;
    let reaped = stage.store.build(builds[0]).await.unwrap().unwrap();
    assert!(reaped.reaped_at.is_some());
    stage.store.destroy_pipeline(line.pipeline).await.unwrap();
    until("all logs go", &|| stage.logs_on_disk() == 0).await;
    until("volumes go", &|| stage.volumes.list().unwrap().is_empty()).await;
    stop.cancel();
    running.await.unwrap();
}
