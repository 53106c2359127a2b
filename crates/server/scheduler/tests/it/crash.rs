//! The driver dies between any two writes, and nothing is lost or done twice.

use airside_store::testing::TestDatabase;

use crate::stage::Stage;

const EVERY: &str = "
resources: [{name: r, type: mock, source: {}}]
jobs:
- {name: a, serial: true, plan: [{get: r, trigger: true, version: every}]}
- {name: b, plan: [{get: r, trigger: true, version: every, passed: [a]}]}
";

async fn each_version_is_built_once(database: TestDatabase) {
    let mut stage = Stage::on(database, EVERY).await;
    stage.found("r", &[1]).await;
    let (mut done, mut number) = (Vec::new(), 1);
    while done.len() < 24 {
        let next = stage.next().await;
        // At every point of a pass: some way into what the end of this build sets off.
        stage.succeed(&next).await;
        for _ in 0..(done.len() * 7) % 40 {
            tokio::task::yield_now().await;
        }
        if done.len() % 2 == 0 {
            stage.crash().await;
        }
        done.push(next.shown);
        if number < 12 {
            number += 1;
            stage.found("r", &[number]).await;
        }
    }
    stage.nothing_runs().await;
    done.sort();
    let mut expected: Vec<String> = (1..=12)
        .flat_map(|number| ["a", "b"].map(|job| format!("{job} #{number} r={number}")))
        .collect();
    expected.sort();
    assert_eq!(done, expected);
}

airside_store::on_both_databases!(each_version_is_built_once);

#[tokio::test]
async fn hostile_a_panic_ends_one_pass_and_the_driver_goes_on() {
    let mut stage = Stage::new(EVERY).await;
    stage.break_runner();
    stage.found("r", &[1]).await;
    let broken = async {
        while stage.is_broken() {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, broken).await.unwrap();
    stage.found("r", &[2]).await;
    assert_eq!(stage.next().await.shown, "a #1 r=1");
    assert!(stage.is_driven());
}
