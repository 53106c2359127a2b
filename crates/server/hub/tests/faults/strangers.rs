//! Peers that have not shown who they are, and what they can take from those who have.

use crate::stand::{Stand, claimed};
use airside_limits::Files;
use airside_protocol::{
    ShimSays, ToHub,
    codec::{MAX_FIRST_FRAME, MAX_FRAME},
};
use bytes::Bytes;
use tokio::{io::AsyncReadExt, net::TcpStream};

/// Silent connections, one for each place that a peer has, and half as many again.
async fn silent(stand: &Stand) -> Vec<TcpStream> {
    let places = Files::now().unclaimed().per_peer;
    let mut silent = Vec::new();
    for _ in 0..places + places / 2 {
        let connected = TcpStream::connect(("127.0.0.1", stand.hub.port())).await;
        silent.push(connected.unwrap());
    }
    silent
}

#[tokio::test]
async fn hostile_silence_keeps_no_shim_from_its_work() {
    let stand = Stand::new().await;
    let _session = stand.attach();
    let mut silent = silent(&stand).await;
    // A shim that is turned away comes back, as this one does.
    let mut peer = loop {
        if let Some(peer) = stand.try_dial().await {
            break peer;
        }
    };
    peer.say(ShimSays::Claim(stand.claim_by("a"))).await;
    claimed(peer.hears().await);
    let mut nothing = [0];
    let first = silent[0].read(&mut nothing).await;
    assert!(
        matches!(first, Ok(0) | Err(_)),
        "the one that was silent longest gave way"
    );
}

#[tokio::test]
async fn hostile_first_frames_are_refused_by_their_length() {
    let stand = Stand::new().await;
    let _session = stand.attach();
    for length in [MAX_FIRST_FRAME + 1, MAX_FRAME] {
        let mut peer = stand.dial().await;
        let head = u32::try_from(length).unwrap().to_be_bytes();
        peer.send_bytes(&head).await;
        assert_eq!(peer.hears_or_end().await, None, "{length}");
    }
}

#[tokio::test]
async fn a_shim_that_is_known_may_say_more_at_a_time() {
    let stand = Stand::new().await;
    let mut session = stand.attach();
    let (mut peer, answer) = stand.claim(stand.claim_by("a")).await;
    claimed(answer);
    let data = Bytes::from(vec![b'x'; MAX_FIRST_FRAME * 2]);
    peer.send(ToHub::Output(airside_protocol::Output {
        offset: 0,
        source: airside_model::event::Source::Stdout,
        data: data.clone(),
    }))
    .await;
    loop {
        if let airside_hub::SessionEvent::Output(output) = crate::stand::next(&mut session).await {
            break assert_eq!(output.data, data);
        }
    }
}
