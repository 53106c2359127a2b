//! Much goes through, and little stays.

use std::collections::BTreeMap;

use airside_gc::{Keep, LogRetention};
use airside_model::{BuildStatus, Version};
use airside_store::{LastCheck, LoggedOf, now, testing::TestDatabase};

use crate::stage::{Leaves, PipelineRows, Stage};

const RESOURCES: usize = 50;
/// Logs that each job keeps.
const LOGS: i64 = 5;
/// Builds that are listed beyond that, and those that are waited for before any goes.
const REAPED: u32 = 10;
const FEWEST: usize = 100;
const ONE_OFFS: u32 = 7;

/// The amounts that are pushed through.
struct Amount {
    jobs: usize,
    builds: usize,
    checks: usize,
}

/// Counts of rows and files at some moment.
struct Found {
    rows: BTreeMap<String, i64>,
    bytes: u64,
    logs: usize,
    volumes: usize,
}

/// A round: some builds of each job, a one-off, checks of every resource, and a collection.
async fn round(stage: &Stage, line: &PipelineRows, number: usize, builds: usize, checks: usize) {
    for n in 0..checks {
        let resource = line.resources[n % RESOURCES];
        let version = |number: usize| Version::from([("v", number.to_string())]);
        match n % 20 {
            // Something new; every now and then the source is another one.
            0 => stage.find(resource, &version(number * checks + n)).await,
            1 => stage.failed_check(line, resource).await,
            _ => {
                let from = stage.store.check_from(resource).await.unwrap().unwrap();
                let last = LastCheck {
                    scope: from.scope,
                    started_at: now(),
                    ended_at: now(),
                    failures: 0,
                };
                stage.store.note_checks(&[(resource, last)]).await.unwrap();
            }
        }
    }
    if number % 4 == 3 {
        for resource in &line.resources {
            stage.store.clear_versions(*resource).await.unwrap();
        }
    }
    let newest = Version::from([("v", format!("b{number}"))]);
    stage.find(line.resources[0], &newest).await;
    for n in 0..builds {
        let status = [BuildStatus::Succeeded, BuildStatus::Failed][n % 3 / 2];
        let leaves = Leaves {
            status,
            input: Some((line.resources[0], &newest)),
            bytes: 2000,
        };
        stage.build(line.jobs[n % line.jobs.len()], &leaves).await;
        if n % line.jobs.len() == 0 {
            stage.one_off(&leaves).await;
        }
    }
    stage.collect().await;
}

async fn look(stage: &Stage) -> Found {
    Found {
        rows: stage.database.rows().await,
        bytes: stage.database.bytes().await,
        logs: stage.logs_on_disk(),
        volumes: stage.volumes.list().unwrap().len(),
    }
}

#[allow(
    clippy::print_stdout,
    reason = "the numbers are what the long run is for"
)]
/// Pushes in rounds, so that much more goes through than is ever there.
async fn push_through(database: TestDatabase, amount: Amount) {
    const ROUNDS: usize = 20;
    let keep = Keep {
        logs: LogRetention {
            default_builds: ONE_OFFS,
            ..LogRetention::default()
        },
        reaped_builds: Some(REAPED),
        ..Keep::default()
    };
    let stage = Stage::new(database, keep).await;
    let jobs = amount.jobs;
    let line = stage.pipeline("p", jobs, RESOURCES, LOGS).await;
    let mut half = None;
    for number in 0..ROUNDS {
        let (builds, checks) = (amount.builds / ROUNDS, amount.checks / ROUNDS);
        round(&stage, &line, number, builds, checks).await;
        if number == ROUNDS / 2 - 1 {
            half = Some(look(&stage).await);
        }
    }
    let (half, end) = (half.unwrap(), look(&stage).await);

    // What retention allows.
    for job in &line.jobs {
        let logged = stage.store.logged_builds(LoggedOf::Job(*job), None, 1000);
        assert_eq!(logged.await.unwrap().len(), LOGS as usize);
    }
    let logged = jobs * LOGS as usize + ONE_OFFS as usize;
    let last_checks = RESOURCES;
    assert!(end.logs <= logged + last_checks, "{} logs", end.logs);
    // One cache of each job's task.
    assert_eq!(end.volumes, jobs);
    let rows = |table: &str| usize::try_from(end.rows[table]).unwrap();
    assert!(rows("build_nodes") <= logged && rows("build_node_starts") <= logged);
    assert!(rows("builds") <= logged + last_checks + (jobs + 1) * (REAPED as usize + FEWEST));
    assert_eq!(rows("volumes"), jobs);

    // Whatever it is, it does not grow with what went through.
    for (table, number) in &end.rows {
        let before = half.rows[table];
        let allowed = before + before / 4 + 2 * (jobs * (FEWEST + REAPED as usize)) as i64;
        assert!(*number <= allowed, "{table}: {before} rows, later {number}");
    }
    println!(
        "{} builds and {} checks: {} bytes at half time, {} at the end, {} logs, {} builds listed",
        amount.builds,
        amount.checks,
        half.bytes,
        end.bytes,
        end.logs,
        rows("builds"),
    );
    assert!(end.bytes < half.bytes + half.bytes / 2 + 4_000_000);
}

const SOME: Amount = Amount {
    jobs: 2,
    builds: 300,
    checks: 1600,
};

const MANY: Amount = Amount {
    jobs: 20,
    builds: 10_000,
    checks: 100_000,
};

#[tokio::test]
async fn some_builds_and_checks_leave_what_retention_allows_sqlite() {
    push_through(TestDatabase::sqlite(), SOME).await;
}

#[tokio::test]
async fn some_builds_and_checks_leave_what_retention_allows_postgres() {
    push_through(TestDatabase::postgres().await, SOME).await;
}

#[tokio::test]
#[ignore = "takes minutes; `make test-all` runs it"]
async fn ten_thousand_builds_and_a_hundred_thousand_checks_sqlite() {
    push_through(TestDatabase::sqlite(), MANY).await;
}

#[tokio::test]
#[ignore = "takes minutes; `make test-all` runs it"]
async fn ten_thousand_builds_and_a_hundred_thousand_checks_postgres() {
    push_through(TestDatabase::postgres().await, MANY).await;
}
