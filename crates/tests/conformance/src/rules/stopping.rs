//! Stopping a step: gently first.

use airside_orchestrator::StepEnd;

use crate::Bench;

pub async fn a_step_that_listens_ends_gently(bench: &Bench) {
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.1; done";
    let (lease, request) = bench.request(script).await;
    let running = bench.start(lease, request).await;
    running.says(bench, "ready").await;
    running.cancel.cancel();
    let ran = running.end(bench).await;
    assert_eq!(ran.end, StepEnd::Stopped(()), "{ran:#?}");
    assert_eq!(ran.stdout, "ready\nbye\n", "{ran:#?}");
    bench.wait_until_empty().await;
}

pub async fn a_step_that_does_not_listen_is_killed(bench: &Bench) {
    bench.stops_soon();
    let deaf = "trap '' TERM; echo ready $0; while :; do sleep 0.1; done";
    let script = format!("sh -c \"{}\" child & {deaf}", deaf.replace('$', "\\$"));
    let (lease, request) = bench.request(&script).await;
    let running = bench.start(lease, request).await;
    running.says(bench, "ready child").await;
    running.says(bench, "ready /bin/sh").await;
    running.cancel.cancel();
    let ran = running.end(bench).await;
    assert_eq!(ran.end, StepEnd::Stopped(()), "{ran:#?}");
    bench.wait_until_empty().await;
}
