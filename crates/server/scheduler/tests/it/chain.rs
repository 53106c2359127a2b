//! Versions that pass from job to job.

use std::{fmt::Write, time::Instant};

use airside_model::BuildStatus;

use crate::stage::{Stage, v};

fn chain(jobs: usize) -> String {
    let mut text = "resources: [{name: r, type: mock, source: {}}]\njobs:\n".to_owned();
    for at in 0..jobs {
        let passed = match at {
            0 => String::new(),
            _ => format!(", passed: [j{}]", at - 1),
        };
        let _ = writeln!(
            text,
            "- {{name: j{at}, plan: [{{get: r, trigger: true{passed}}}]}}"
        );
    }
    text
}

#[tokio::test]
async fn a_version_goes_through_a_chain_and_stops_where_a_build_fails() {
    let mut stage = Stage::new(&chain(3)).await;
    stage.found("r", &[1]).await;
    for job in ["j0", "j1", "j2"] {
        assert_eq!(stage.run_next().await, format!("{job} #1 r=1"));
    }
    stage.nothing_runs().await;
    stage.found("r", &[2]).await;
    assert_eq!(stage.run_next().await, "j0 #2 r=2");
    let failing = stage.next().await;
    assert_eq!(failing.shown, "j1 #2 r=2");
    stage.finish(&failing, BuildStatus::Failed).await;
    stage.nothing_runs().await;
}

#[tokio::test]
async fn what_a_build_puts_goes_on_instead_of_what_it_got() {
    let mut stage = Stage::new(
        "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, plan: [{get: r, trigger: true}, {put: r}]}
- {name: b, plan: [{get: r, trigger: true, passed: [a]}]}
",
    )
    .await;
    stage.found("r", &[1]).await;
    let first = stage.next().await;
    let resource = stage.resource("r").await;
    let made = v(9);
    let put = stage
        .store
        .save_output(first.build.id, "r", resource, &made, &[]);
    put.await.unwrap();
    // The version that was put triggers, too: there is no `passed` in between.
    let again = stage.next().await;
    assert_eq!(again.shown, "a #2 r=9");
    stage.succeed(&first).await;
    assert_eq!(stage.run_next().await, "b #1 r=9");
    stage.finish(&again, BuildStatus::Failed).await;
    stage.nothing_runs().await;
}

#[tokio::test]
async fn a_chain_of_twenty_jobs_is_through_in_time() {
    let mut stage = Stage::new(&chain(20)).await;
    stage.settled().await;
    let begun = Instant::now();
    stage.found("r", &[1]).await;
    for at in 0..20 {
        assert_eq!(stage.run_next().await, format!("j{at} #1 r=1"));
    }
    // Without waiting for a timer anywhere: each sweep is 300 seconds after the last. What twenty
    // builds cost is for benchmarks to say.
    let took = begun.elapsed();
    assert!(took.as_secs() < 60, "{took:?}");
}
