//! The right to the work of a step, whatever happens on the way.

use crate::stand::{Stand, claimed, next, order, refused};
use airside_hub::SessionEvent;
use airside_model::{VolumeId, event::Source};
use airside_protocol::{Exit, IMAGE_PROTOCOL, Order, Output, PROTOCOL, ShimSays, ToHub};
use bytes::Bytes;

#[tokio::test]
async fn another_instance_is_refused_and_the_driver_hears_of_it() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let (_first, answer) = stand.claim(stand.claim_by("first")).await;
    assert_eq!(claimed(answer).order, order());
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));

    let (mut second, answer) = stand.claim(stand.claim_by("second")).await;
    let (reason, retry) = refused(answer);
    assert!(reason.contains("another instance has it"), "{reason}");
    assert!(!retry, "it must not come back");
    assert_eq!(second.hears_or_end().await, None);
    match next(&mut session).await {
        SessionEvent::Refused { reason } => {
            assert!(reason.contains("another instance"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

/// The committed claim is the point of no return, answered or not: the same instance gets the same
/// order, and no other instance gets one.
#[tokio::test]
async fn a_dropped_answer_changes_nothing() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let mut cut = stand.dial().await;
    cut.say(ShimSays::Claim(stand.claim_by("first"))).await;
    drop(cut);
    // The claim is committed although its answer is lost.
    loop {
        let container = stand.store.container(&stand.handle).await.unwrap().unwrap();
        if container.claimed_at.is_some() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let (_, answer) = stand.claim(stand.claim_by("second")).await;
    assert!(!refused(answer).1);
    let (mut again, answer) = stand.claim(stand.claim_by("first")).await;
    assert_eq!(claimed(answer).order, order());

    again.say(ShimSays::Started).await;
    loop {
        match next(&mut session).await {
            SessionEvent::Started => break,
            SessionEvent::Connected | SessionEvent::Disconnected | SessionEvent::Refused { .. } => {
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_new_connection_of_the_same_instance_replaces_the_old_and_goes_on() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let output = |offset, text: &'static str| {
        ToHub::Output(Output {
            offset,
            source: Source::Stdout,
            data: Bytes::from(text),
        })
    };
    let (mut first, answer) = stand.claim(stand.claim_by("a")).await;
    let old_session = claimed(answer).session;
    first.send(output(0, "one ")).await;
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));
    assert!(matches!(next(&mut session).await, SessionEvent::Output(o) if &o.data[..] == b"one "));
    session.acknowledge(4);

    let (mut second, answer) = stand.claim(stand.claim_by("a")).await;
    let answer = claimed(answer);
    assert_eq!(answer.output_received, 4);
    assert_ne!(answer.session, old_session);
    // Sent again from too early: only what is new counts.
    second.send(output(0, "one two")).await;
    second
        .say(ShimSays::Finished {
            exit: Exit::Code(0),
        })
        .await;
    let mut text = String::new();
    loop {
        match next(&mut session).await {
            SessionEvent::Output(o) => text += std::str::from_utf8(&o.data).unwrap(),
            SessionEvent::Finished(exit) => break assert_eq!(exit, Exit::Code(0)),
            SessionEvent::Connected | SessionEvent::Disconnected => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "two");
    while first.hears_or_end().await.is_some() {}
}

#[tokio::test]
async fn a_wrong_token_step_or_protocol_is_refused() {
    let stand = Stand::new().await;
    let _session = stand.attach();
    let mut wrong = stand.claim_by("a");
    wrong.token = "guessed".to_owned();
    let (_, answer) = stand.claim(wrong).await;
    assert!(!refused(answer).1);
    let mut wrong = stand.claim_by("a");
    wrong.handle = airside_model::Handle::new("s-other");
    let (_, answer) = stand.claim(wrong).await;
    assert_eq!(
        refused(answer),
        ("there is no such step, or no longer".to_owned(), false)
    );
    let mut wrong = stand.claim_by("a");
    wrong.protocol = PROTOCOL + 1;
    let (_, answer) = stand.claim(wrong).await;
    let (reason, retry) = refused(answer);
    assert!(
        reason.contains("use the shim that came with this airside") && !retry,
        "{reason}"
    );
    // None of them has used the right up.
    let (_, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
}

/// A driver learns that its step cannot run, but only from a shim with the step's token.
#[tokio::test]
async fn a_shim_of_another_time_ends_its_own_step_and_no_other() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let mut guessed = stand.claim_by("a");
    (guessed.protocol, guessed.token) = (0, "guessed".to_owned());
    let (_, answer) = stand.claim(guessed).await;
    assert!(!refused(answer).1);
    match next(&mut session).await {
        SessionEvent::Refused { reason } => assert!(reason.contains("protocol 0"), "{reason}"),
        other => panic!("{other:?}"),
    }
    let mut old = stand.claim_by("a");
    old.protocol = 0;
    let (_, answer) = stand.claim(old).await;
    assert!(!refused(answer).1);
    match next(&mut session).await {
        SessionEvent::Unfit { reason } => assert!(reason.contains("protocol 0"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_shim_that_would_not_heed_an_image_is_not_given_one() {
    let stand = Stand::new().await;
    let _session = stand.attach_with(Order {
        image: Some(VolumeId::new("v-image")),
        ..order()
    });
    let mut old = stand.claim_by("a");
    old.protocol = IMAGE_PROTOCOL - 1;
    let (_, answer) = stand.claim(old).await;
    let (reason, retry) = refused(answer);
    assert!(reason.contains("too old to run one") && !retry, "{reason}");
    let (_, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
}

#[tokio::test]
async fn a_withdrawn_right_cannot_be_claimed_and_a_claimed_step_not_withdrawn() {
    let stand = Stand::new().await;
    let _session = stand.attach();
    assert!(stand.store.revoke_unclaimed(&stand.handle).await.unwrap());
    let (_, answer) = stand.claim(stand.claim_by("a")).await;
    assert!(refused(answer).0.contains("withdrawn"));

    let stand = Stand::new().await;
    let _session = stand.attach();
    let (_peer, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
    assert!(!stand.store.revoke_unclaimed(&stand.handle).await.unwrap());
}

#[tokio::test]
async fn a_shim_that_comes_before_its_driver_waits_for_it() {
    let stand = Stand::new().await;
    let mut early = stand.dial().await;
    early.say(ShimSays::Claim(stand.claim_by("a"))).await;
    let (answer, mut session) = tokio::join!(early.hears(), async { stand.attach() });
    claimed(answer);
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));
}

#[tokio::test]
async fn a_gap_in_the_output_cuts_the_connection() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let (mut peer, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
    let data = Bytes::from("late");
    peer.send(ToHub::Output(Output {
        offset: 7,
        source: Source::Stdout,
        data,
    }))
    .await;
    while peer.hears_or_end().await.is_some() {}
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));
    assert!(matches!(
        next(&mut session).await,
        SessionEvent::Disconnected
    ));
}

/// A driver that gave up (its database was away) is followed by another in the same process. The
/// shim, which has nothing to say, hears of it all the same.
#[tokio::test]
async fn a_silent_shim_finds_the_next_driver() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let (mut shim, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));
    drop(session);
    let mut session = stand.attach();
    while shim.hears_or_end().await.is_some() {}
    let (_shim, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
    assert!(matches!(next(&mut session).await, SessionEvent::Connected));
}
