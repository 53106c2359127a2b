//! Stopping: by the hub's word or by the runtime's signal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, path::Path};

use airside_protocol::{Exit, HubSays};
use support::{Connection, Finished, Hub, Shim, script};

/// Runs `text`, which says "ready" when it is.
async fn ready(hub: &Hub, shim: &Shim, text: &str) -> (Connection, Finished) {
    let order = script(shim.folder.path(), text);
    let (mut control, _) = hub.claimed(&order, 0).await;
    let mut finished = Finished::default();
    control.output(&mut finished, "ready\n".len()).await;
    assert_eq!(finished.text(), "ready\n");
    (control, finished)
}

#[tokio::test]
async fn stop_gives_the_process_time_and_keeps_its_last_words() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let text = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut control, _) = ready(&hub, &shim, text).await;
    control.say(HubSays::Stop { grace_seconds: 20 }).await;
    let finished = control.finish().await;
    assert_eq!(
        (finished.text().as_str(), finished.exit),
        ("bye\n", Some(Exit::Stopped))
    );
}

#[tokio::test]
async fn stop_kills_what_ignores_it_with_all_it_started() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let text = "trap '' TERM; setsid sleep 1000 & echo $! > child; sleep 1000 & echo ready; \
                while :; do sleep 0.05; done";
    let (mut control, _) = ready(&hub, &shim, text).await;
    control.say(HubSays::Stop { grace_seconds: 1 }).await;
    assert_eq!(control.finish().await.exit, Some(Exit::Stopped));
    let child = fs::read_to_string(shim.folder.path().join("child")).unwrap();
    assert!(!Path::new("/proc").join(child.trim()).exists());
}

#[tokio::test]
async fn stop_before_the_start_means_no_start() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut order = script(shim.folder.path(), "echo ran > mark");
    order.fetch = vec![support::transfer("v", &shim.folder.path().join("input"))];
    let (mut control, _) = hub.claimed(&order, 0).await;
    // The input never comes.
    let _volume = hub.accept().await;
    control.say(HubSays::Stop { grace_seconds: 20 }).await;
    let finished = control.finish().await;
    assert_eq!(
        (finished.started, finished.exit),
        (false, Some(Exit::Stopped))
    );
    assert!(!shim.folder.path().join("mark").exists());
}

#[tokio::test]
async fn a_terminated_shim_passes_it_on_reports_and_leaves() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let text = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut control, _) = ready(&hub, &shim, text).await;
    shim.terminate();
    let finished = control.finish().await;
    assert_eq!(
        (finished.text().as_str(), finished.exit),
        ("bye\n", Some(Exit::TakenAway))
    );
    control.say(HubSays::Committed).await;
    let status = shim.left().await.0;
    assert_eq!(
        status.code(),
        Some(143),
        "a pod that is evicted has not succeeded"
    );
}

#[tokio::test]
async fn a_terminated_shim_that_only_stays_leaves() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), "true");
    let (mut control, _) = hub.claimed(&order, 0).await;
    control.finish().await;
    control.say(HubSays::Committed).await;
    shim.terminate();
    assert!(shim.left().await.0.success());
}

#[tokio::test]
async fn exit_ends_a_running_process_too() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let (mut control, _) = ready(&hub, &shim, "echo ready; exec sleep 1000").await;
    control.say(HubSays::Exit).await;
    assert!(shim.left().await.0.success());
}
