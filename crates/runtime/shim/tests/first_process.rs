//! The shim as first process of a namespace, as it is in every container. Needs root.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::fs;

use airside_protocol::{Exit, HubSays};
use support::{Hub, Shim, script};

#[tokio::test]
async fn orphans_are_collected_and_leftovers_ended() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let hub = Hub::start().await;
    let shim = Shim::start_first(&hub);
    // An orphan that ends becomes a zombie unless the first process collects it; another holds the
    // output open and would never end by itself.
    let text = "mkfifo ready; (setsid sh -c 'echo $$ > orphan; exit 0' &); \
                (setsid sh -c 'echo > ready; exec sleep 1000' &); read -r line < ready; \
                while ! [ -s orphan ] || [ -e /proc/$(cat orphan) ]; do :; done; echo $PPID; exit 4";
    let order = script(shim.folder.path(), text);
    let (mut control, _) = hub.claimed(&order, 0).await;
    let finished = control.finish().await;
    assert_eq!(
        (finished.text().as_str(), finished.exit),
        ("1\n", Some(Exit::Code(4)))
    );
    control.say(HubSays::Exit).await;
    assert!(shim.left().await.0.success());
}

#[tokio::test]
async fn a_root_task_finds_no_token_in_the_shim() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let hub = Hub::start().await;
    let shim = Shim::start_first(&hub);
    let order = script(
        shim.folder.path(),
        "tr '\\0' '\\n' < /proc/1/environ; env; echo ready; cat",
    );
    let (mut control, _) = hub.claimed(&order, 0).await;
    let text = String::from_utf8_lossy(&control.finish().await.all).into_owned();
    assert!(text.contains("ready\n"), "{text}");
    assert!(!text.contains(support::TOKEN), "{text}");
    assert!(!fs::exists(shim.folder.path().join("state")).unwrap());
}
