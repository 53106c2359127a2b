//! The control connection: who is trusted, what survives its loss, what is said twice and what
//! never.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, time::Duration};

use airside_protocol::{Claimed, Exit, HubSays, ShimSays, ToHub};
use support::{Finished, Hub, SESSION, Shim, eventually, script};

/// Two megabytes that a shifted or repeated byte would spoil.
const COUNT: &str = "i=0; while [ $i -lt 40000 ]; do echo \"line $i of the output, somewhat long\"; \
                     i=$((i+1)); done";

fn counted() -> String {
    (0..40000)
        .map(|i| format!("line {i} of the output, somewhat long\n"))
        .collect()
}

#[tokio::test]
async fn output_survives_a_cut_and_resumes_from_what_the_hub_has() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), COUNT);

    let (mut control, first) = hub.claimed(&order, 0).await;
    let mut before = Finished::default();
    control.output(&mut before, 300_000).await;
    control.say(HubSays::Ack { offset: 100_000 }).await;
    drop(control);

    // The hub had acknowledged less than it got, and has stored a little more than it acknowledged.
    let (mut control, second) = hub.claimed(&order, 123_456).await;
    assert_eq!(first.instance, second.instance);
    assert_eq!(first.instance.len(), 32);
    let after = control.finish().await;
    assert_eq!(after.first, Some(123_456));
    let mut whole = before.all[..123_456].to_vec();
    whole.extend_from_slice(&after.all);
    assert_eq!(String::from_utf8(whole).unwrap(), counted());
    assert_eq!(after.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn output_that_nobody_acknowledges_goes_over_the_disk_intact() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), &format!("{COUNT}; {COUNT}"));
    let (mut control, _) = hub.claimed(&order, 0).await;
    let whole = control.finish().await;
    drop(control);
    let (mut control, _) = hub.claimed(&order, 0).await;
    let again = control.finish().await;
    assert!(whole.text() == counted().repeat(2));
    assert!(again.text() == whole.text());
}

#[tokio::test]
async fn a_lost_answer_to_the_claim_does_not_run_the_process_twice() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mark = shim.folder.path().join("mark");
    let order = script(shim.folder.path(), "echo ran >> mark");

    let mut control = hub.accept().await;
    let first = control.claim().await;
    drop(control);
    let (control, second) = hub.claimed(&order, 0).await;
    assert_eq!(first, second);
    // This time the answer arrives and the connection breaks right after it.
    drop(control);
    let (mut control, third) = hub.claimed(&order, 0).await;
    assert_eq!(first, third);
    assert_eq!(control.finish().await.exit, Some(Exit::Code(0)));
    assert_eq!(fs::read_to_string(mark).unwrap(), "ran\n");
}

#[tokio::test]
async fn the_result_is_repeated_until_it_is_committed() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), "exit 5");
    for _ in 0..2 {
        let (mut control, _) = hub.claimed(&order, 0).await;
        assert_eq!(control.finish().await.exit, Some(Exit::Code(5)));
    }
    let (mut control, _) = hub.claimed(&order, 0).await;
    assert_eq!(control.finish().await.exit, Some(Exit::Code(5)));
    control.say(HubSays::Committed).await;
    drop(control);
    let (mut control, _) = hub.claimed(&order, 0).await;
    control.started().await;
    control.say(HubSays::Exit).await;
    while let Some(message) = control.next().await {
        assert_eq!(message, ToHub::Control(ShimSays::Heartbeat));
    }
    assert!(shim.left().await.0.success());
}

#[tokio::test]
async fn a_hub_with_another_key_is_told_nothing() {
    let hub = Hub::start().await;
    let shim = Shim::start_with(&hub.address(), &"ab".repeat(32), &[]);
    for _ in 0..2 {
        // The handshake may look complete from here; but nothing ever comes through it.
        if let Ok(mut connection) = hub.try_accept().await {
            assert_eq!(connection.next().await, None);
        }
    }
    eventually("the shim says why", || shim.log().contains(&hub.pin)).await;
}

#[tokio::test]
async fn a_refused_claim_ends_the_shim() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = hub.accept().await;
    control.claim().await;
    control
        .say(HubSays::Refused {
            reason: "not now".into(),
            retry: true,
        })
        .await;
    let mut control = hub.accept().await;
    control.claim().await;
    control
        .say(HubSays::Refused {
            reason: "somebody else has it".into(),
            retry: false,
        })
        .await;
    let (status, log) = shim.left().await;
    assert_eq!(status.code(), Some(70));
    assert!(log.contains("somebody else has it"), "{log}");
}

#[tokio::test]
async fn a_shim_that_is_refused_later_ends_its_process() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), "echo $$; exec sleep 1000");
    let (mut control, _) = hub.claimed(&order, 0).await;
    let mut finished = Finished::default();
    control.output(&mut finished, 2).await;
    let pid = finished.text().trim().to_owned();
    drop(control);
    let mut control = hub.accept().await;
    control.claim().await;
    control
        .say(HubSays::Refused {
            reason: "placed again".into(),
            retry: false,
        })
        .await;
    assert_eq!(shim.left().await.0.code(), Some(70));
    eventually("the process ends", || !runs(&pid)).await;
}

/// Returns true if the process is there and not merely waiting to be collected by init.
fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn an_older_epoch_is_not_obeyed() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), "echo hi; exec cat ready");
    let ready = shim.folder.path().join("ready");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &ready,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let claimed = |epoch| {
        let order = order.clone();
        let claimed = Claimed {
            session: SESSION.into(),
            epoch,
            output_received: 0,
            order,
        };
        HubSays::Claimed(Box::new(claimed))
    };
    let mut control = hub.accept().await;
    control.claim().await;
    control.say(claimed(2)).await;
    control.started().await;
    drop(control);
    let mut control = hub.accept().await;
    control.claim().await;
    control.say(claimed(1)).await;
    assert_eq!(control.next().await, None);
    let mut control = hub.accept().await;
    control.claim().await;
    control.say(claimed(2)).await;
    fs::write(&ready, "end").unwrap();
    assert_eq!(control.finish().await.text(), "hi\nend");
}

#[tokio::test]
async fn heartbeats_come_and_a_silent_hub_is_left() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let order = script(shim.folder.path(), "exec sleep 1000");
    let (mut control, _) = hub.claimed(&order, 0).await;
    control.started().await;
    assert_eq!(
        control.next().await,
        Some(ToHub::Control(ShimSays::Heartbeat))
    );
    // Nothing is said from here; the shim closes and comes back.
    while control.next().await.is_some() {}
    hub.claimed(&order, 0).await;
}

#[tokio::test]
async fn without_a_hub_for_too_long_the_process_is_ended() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut order = script(shim.folder.path(), "exec sleep 1000");
    order.fence_after_seconds = 1;
    let (mut control, _) = hub.claimed(&order, 0).await;
    control.started().await;
    drop(control);
    // Connections that lead nowhere are not a hub.
    let fenced = async { eventually("the fence", || shim.log().contains("no hub for 1 s")).await };
    let nowhere = async {
        loop {
            drop(hub.accept_tcp().await);
        }
    };
    tokio::select! {
        () = fenced => {}
        () = nowhere => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("no fence"),
    }
    // What was accepted by the kernel meanwhile is a dead connection; the next one counts.
    let finished = loop {
        if let Ok(mut control) = hub.try_accept().await
            && let Some(ToHub::Control(ShimSays::Claim(_))) = control.next().await
        {
            let order = order.clone();
            let claimed = Claimed {
                session: SESSION.into(),
                epoch: 1,
                output_received: 0,
                order,
            };
            control.say(HubSays::Claimed(Box::new(claimed))).await;
            break control.finish().await;
        }
    };
    assert_eq!(finished.exit, Some(Exit::Fenced));
}
