//! A thousand jobs over two hundred resources with a million versions stored.
//!
//! `cargo test --release -p airside-scheduler --test it -- --ignored --nocapture scale`

use std::{fmt::Write, time::Instant};

use airside_model::Version;
use airside_store::Pausing;

use crate::stage::Stage;

fn pipeline(jobs: usize, resources: usize) -> String {
    let mut text = "resources:\n".to_owned();
    for at in 0..resources {
        let _ = writeln!(text, "- {{name: r{at}, type: mock, source: {{}}}}");
    }
    text.push_str("jobs:\n");
    for at in 0..jobs {
        let _ = write!(text, "- name: j{at}\n  plan:\n");
        for input in 0..5 {
            let resource = (at * 7 + input) % resources;
            let passed = match (at.checked_sub(resources), input < 3) {
                (Some(up), true) => format!(", passed: [j{up}]"),
                _ => String::new(),
            };
            let trigger = input == 0;
            let _ = writeln!(
                text,
                "  - {{get: i{input}, resource: r{resource}, trigger: {trigger}{passed}}}"
            );
        }
    }
    text
}

/// Measures a pass of all jobs once the view is filled, and the filling.
async fn measure(jobs: usize, resources: usize, versions: usize) {
    let stage = Stage::new(&pipeline(jobs, resources)).await;
    let pause = Pausing::Pause { by: "me" };
    stage
        .store
        .set_pipeline_paused(stage.pipeline, pause)
        .await
        .unwrap();
    stage.settled().await;
    for at in 0..resources {
        let resource = stage.resource(&format!("r{at}")).await;
        let from = stage.store.check_from(resource).await.unwrap().unwrap();
        let all: Vec<_> = (0..versions)
            .map(|number| (Version::from([("v", number.to_string())]), vec![]))
            .collect();
        stage
            .store
            .save_versions(resource, &from, &all)
            .await
            .unwrap();
    }
    let begun = Instant::now();
    stage
        .store
        .set_pipeline_paused(stage.pipeline, Pausing::Resume)
        .await
        .unwrap();
    stage.settled().await;
    println!(
        "first pass of {jobs} jobs, with builds created and started: {:?}",
        begun.elapsed()
    );
    for _ in 0..3 {
        let begun = Instant::now();
        stage
            .store
            .set_pipeline_paused(stage.pipeline, Pausing::Resume)
            .await
            .unwrap();
        stage.settled().await;
        println!("another pass of {jobs} jobs: {:?}", begun.elapsed());
    }
    let begun = Instant::now();
    let job = stage.job("j5").await;
    stage.store.ask_for_job(job);
    stage.settled().await;
    println!("a pass of one job: {:?}", begun.elapsed());
}

#[tokio::test]
#[ignore = "takes a minute; for the numbers in docs/performance.md"]
async fn a_thousand_jobs_and_a_million_versions() {
    measure(1000, 200, 5000).await;
}

#[tokio::test]
#[ignore = "takes a while; shows that a pass does not depend on how many versions there are"]
async fn a_thousand_jobs_and_twenty_thousand_versions() {
    measure(1000, 200, 100).await;
}

#[tokio::test]
async fn a_pass_over_many_jobs_settles() {
    measure(60, 20, 100).await;
}
