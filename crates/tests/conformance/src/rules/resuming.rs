//! A step goes on while no server follows it.

use std::time::Duration;

use crate::Bench;

pub async fn a_step_is_followed_again_without_loss_or_repetition(bench: &Bench) {
    // It pauses where it is left, so that it is not over before that.
    let script = "i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); sleep 0.05; \
                  [ $i -ne 10 ] || sleep 10; done; exit 5";
    let (lease, request) = bench.request(script).await;
    let again = request.clone();
    let running = bench.start(lease, request).await;
    running.says(bench, "line 9\n").await;
    running.task.abort();
    let dropped = running.task.await;
    assert!(
        dropped.is_err_and(|error| error.is_cancelled()),
        "it ended too early for this test"
    );

    bench.reopen().await;
    let hour = Duration::from_secs(3600);
    let taken = bench
        .ground
        .store
        .take_build(running.build, "bench", "bench:1", hour)
        .await;
    let lease = taken.unwrap().expect("the build is not finished");
    assert!(lease.epoch > running.lease.epoch);
    let ran = bench.start(lease, again).await.end(bench).await;
    ran.assert_exited(5);
    let expected: String = (0..60).map(|number| format!("line {number}\n")).collect();
    assert_eq!(ran.stdout, expected, "{ran:#?}");
}
