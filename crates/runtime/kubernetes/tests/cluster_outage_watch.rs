//! A real cluster that loses its API server and then a node. As in `cluster.rs`, and only where
//! `AIRSIDE_TEST_CLUSTER_COMMAND` names a program that knows `api-stop`, `api-start`, `node-stop 1`
//! and `node-start 1`. Alone in this file: nothing else may use the cluster meanwhile.

mod common;

use std::{process::Command, time::Duration};

use airside_runtime::{Error, Observed, Runtime};
use common::{Cluster, busybox, wait_for};

fn command(program: &str, args: &[&str]) {
    let output = Command::new(program)
        .args(args)
        .output()
        .expect("the cluster's program runs");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_watch_outlives_the_api_server_and_tells_of_silent_nodes() {
    let Ok(program) = std::env::var("AIRSIDE_TEST_CLUSTER_COMMAND") else {
        return;
    };
    let Some(cluster) = Cluster::offered("outage").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let mut stream = runtime.observe();
    let [running, gone] = [1, 2].map(|build| cluster.spec(busybox(), build));
    let started = |it: &Observed| matches!(it, Observed::Started { .. });
    for spec in [&running, &gone] {
        runtime.place(spec).await.unwrap();
        wait_for(&mut runtime.observe(), &spec.handle, started).await;
    }

    let mut condition = runtime.condition().expect("a target tells how it is");
    command(&program, &["api-stop"]);
    let stalled = condition.wait_for(|condition| condition.stalled.is_some());
    tokio::time::timeout(Duration::from_secs(90), stalled)
        .await
        .expect("it is noticed")
        .expect("the runtime is there");
    let away = runtime.place(&cluster.spec(busybox(), 3)).await;
    assert!(matches!(away, Err(Error::Unavailable { .. })), "{away:?}");
    command(&program, &["api-start"]);
    let running_again = condition.wait_for(|condition| condition.stalled.is_none());
    tokio::time::timeout(Duration::from_secs(90), running_again)
        .await
        .expect("it is noticed")
        .expect("the runtime is there");
    // The interrupted watch must report a deletion by others too.
    cluster.kubectl(&["delete", "pod", gone.handle.as_str(), "--grace-period=1"]);
    wait_for(&mut stream, &gone.handle, |it| {
        matches!(it, Observed::Gone { .. })
    })
    .await;

    command(&program, &["node-stop", "1"]);
    let silent = |it: &Observed| matches!(it, Observed::Silent { node: Some(_), .. });
    wait_for(&mut stream, &running.handle, silent).await;
    command(&program, &["node-start", "1"]);
    wait_for(&mut stream, &running.handle, |it| {
        matches!(it, Observed::Gone { .. })
    })
    .await;
    runtime.destroy(&running.handle).await.unwrap();
}
