//! People in containers: a shim that is asked, and answers on a connection of its own.

use crate::stand::{Peer, Stand, claimed, next, refused};
use airside_hub::{HijackError, HijackEvent, HijackInput, HijackRequest, SessionEvent};
use airside_model::{Handle, event::Source};
use airside_protocol::{
    Exit, HIJACK_PROTOCOL, Hijack, HubSays, OLDEST_PROTOCOL, Output, ShimSays, ToHub, Tty,
};
use bytes::Bytes;

fn shell() -> HijackRequest {
    HijackRequest {
        path: "sh".to_owned(),
        ..HijackRequest::default()
    }
}

/// A shim that has claimed the step, and the key to its further connections.
async fn shim(stand: &Stand) -> (Peer, String) {
    let (peer, answer) = stand.claim(stand.claim_by("first")).await;
    (peer, claimed(answer).session)
}

async fn asked(control: &mut Peer) -> Hijack {
    match control.hears().await {
        HubSays::Hijack(hijack) => *hijack,
        other => panic!("{other:?}"),
    }
}

/// Answers, and gives what the hub says to it.
async fn answer(stand: &Stand, session: &str, id: &str) -> (Peer, HubSays) {
    let mut peer = stand.dial().await;
    peer.say(ShimSays::Answer {
        handle: stand.handle.clone(),
        session: session.to_owned(),
        id: id.to_owned(),
    })
    .await;
    let says = peer.hears().await;
    (peer, says)
}

#[tokio::test]
async fn a_process_is_talked_with_until_it_ends() {
    let stand = Stand::new().await;
    let _driver = stand.attach();
    let (mut control, session) = shim(&stand).await;
    let hijacking = stand.hub.hijack(&stand.handle, shell());
    let answering = async {
        let asked = asked(&mut control).await;
        assert_eq!(asked.path, "sh");
        answer(&stand, &session, &asked.id).await
    };
    let (hijack, (mut peer, begun)) = tokio::join!(hijacking, answering);
    let mut hijack = hijack.unwrap();
    assert_eq!(begun, HubSays::Begin);

    peer.say(ShimSays::Started).await;
    let data = Bytes::from_static(b"\xffout");
    peer.send(ToHub::Output(Output {
        offset: 0,
        source: Source::Stderr,
        data: data.clone(),
    }))
    .await;
    assert_eq!(hijack.events.recv().await, Some(HijackEvent::Started));
    let output = HijackEvent::Output(Source::Stderr, data);
    assert_eq!(hijack.events.recv().await, Some(output));
    let size = Tty {
        columns: 1,
        rows: 2,
    };
    hijack.inputs.send(HijackInput::Resize(size)).await.unwrap();
    hijack.inputs.send(HijackInput::Close).await.unwrap();
    assert_eq!(peer.hears().await, HubSays::Resize(size));
    assert_eq!(peer.hears().await, HubSays::CloseInput);
    let exit = Exit::Code(3);
    peer.say(ShimSays::Finished { exit: exit.clone() }).await;
    assert_eq!(hijack.events.recv().await, Some(HijackEvent::Exited(exit)));
    assert_eq!(hijack.events.recv().await, None);
    assert_eq!(peer.hears_or_end().await, None);
}

#[tokio::test]
async fn either_side_may_go() {
    let stand = Stand::new().await;
    let _driver = stand.attach();
    let (mut control, session) = shim(&stand).await;
    for shim_goes in [true, false] {
        let hijacking = stand.hub.hijack(&stand.handle, shell());
        let answering = async {
            let asked = asked(&mut control).await;
            answer(&stand, &session, &asked.id).await
        };
        let (hijack, (mut peer, _)) = tokio::join!(hijacking, answering);
        let mut hijack = hijack.unwrap();
        if shim_goes {
            drop(peer);
            match hijack.events.recv().await {
                Some(HijackEvent::Lost(_)) => {}
                other => panic!("{other:?}"),
            }
        } else {
            drop(hijack);
            assert_eq!(
                peer.hears_or_end().await,
                None,
                "the shim kills the process"
            );
        }
    }
}

#[tokio::test]
async fn a_shim_that_reconnects_is_asked_again_and_heard_once() {
    let stand = Stand::new().await;
    let _driver = stand.attach();
    let (mut control, _) = shim(&stand).await;
    let hijacking = stand.hub.hijack(&stand.handle, shell());
    let answering = async {
        let first = asked(&mut control).await;
        drop(control);
        let (mut control, session) = shim(&stand).await;
        assert_eq!(asked(&mut control).await, first);
        let answered = answer(&stand, &session, &first.id).await;
        let (_, again) = answer(&stand, &session, &first.id).await;
        assert!(!refused(again).1);
        (control, answered)
    };
    let (hijack, (_control, (_peer, begun))) = tokio::join!(hijacking, answering);
    assert!(hijack.is_ok());
    assert_eq!(begun, HubSays::Begin);
}

#[tokio::test]
async fn only_the_steps_own_shim_may_answer() {
    let stand = Stand::new().await;
    let _driver = stand.attach();
    let (mut control, session) = shim(&stand).await;
    let hijacking = stand.hub.hijack(&stand.handle, shell());
    let answering = async {
        let asked = asked(&mut control).await;
        let (_, stranger) = answer(&stand, "another session", &asked.id).await;
        refused(stranger);
        let (_, confused) = answer(&stand, &session, "another id").await;
        refused(confused);
        answer(&stand, &session, &asked.id).await
    };
    let (hijack, (_peer, begun)) = tokio::join!(hijacking, answering);
    assert!(hijack.is_ok());
    assert_eq!(begun, HubSays::Begin);
}

/// Steps outlive an upgrade of the server.
#[tokio::test]
async fn an_older_shim_works_on_and_is_never_asked() {
    assert_eq!(OLDEST_PROTOCOL + 1, HIJACK_PROTOCOL);
    let stand = Stand::new().await;
    let mut driver = stand.attach();
    let mut claim = stand.claim_by("first");
    claim.protocol = OLDEST_PROTOCOL;
    let (mut control, answer) = stand.claim(claim).await;
    claimed(answer);
    let refused = stand.hub.hijack(&stand.handle, shell()).await;
    assert_eq!(refused.err(), Some(HijackError::TooOld));
    control.say(ShimSays::Started).await;
    assert!(matches!(next(&mut driver).await, SessionEvent::Connected));
    assert!(matches!(next(&mut driver).await, SessionEvent::Started));
}

#[tokio::test]
async fn a_kept_shim_lets_people_in_until_it_is_let_go() {
    let stand = Stand::new().await;
    let nobody = stand.hub.hijack(&Handle::new("s-none"), shell()).await;
    assert_eq!(nobody.err(), Some(HijackError::Gone));
    let driver = stand.attach();
    let (mut control, session) = shim(&stand).await;
    driver.keep();
    assert_eq!(control.hears().await, HubSays::Committed);
    let hijacking = stand.hub.hijack(&stand.handle, shell());
    let answering = async {
        let asked = asked(&mut control).await;
        answer(&stand, &session, &asked.id).await
    };
    let (hijack, _) = tokio::join!(hijacking, answering);
    assert!(hijack.is_ok());
    stand.hub.let_go(&stand.handle);
    assert_eq!(control.hears().await, HubSays::Exit);
    while stand.hub.is_attached(&stand.handle) {
        tokio::task::yield_now().await;
    }
}
