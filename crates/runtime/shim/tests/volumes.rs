//! Inputs and outputs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, path::Path};

use airside_model::{Handle, VolumeId};
use airside_protocol::{End, Exit, HubSays, ShimSays, ToHub, ToShim};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use support::{Connection, HANDLE, Hub, SESSION, Shim, script, transfer};

fn packed(content: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/file"), content).unwrap();
    let mut bytes = Vec::new();
    airside_archive::pack(folder.path(), &mut bytes).unwrap();
    bytes
}

fn end(bytes: &[u8]) -> End {
    End {
        sha256: hex::encode(Sha256::digest(bytes)),
        bytes: bytes.len() as u64,
    }
}

async fn asked_to_fetch(hub: &Hub, volume: &str) -> Connection {
    let mut connection = hub.accept().await;
    let expected = ShimSays::Fetch {
        handle: Handle::new(HANDLE),
        session: SESSION.into(),
        volume: VolumeId::new(volume),
    };
    assert_eq!(connection.hear().await, ToHub::Control(expected));
    connection
}

async fn asked_to_store(hub: &Hub, volume: &str) -> Connection {
    let mut connection = hub.accept().await;
    let expected = ShimSays::Upload {
        handle: Handle::new(HANDLE),
        session: SESSION.into(),
        volume: VolumeId::new(volume),
    };
    assert_eq!(connection.hear().await, ToHub::Control(expected));
    connection
}

/// Sends `bytes` in small pieces, followed by `end`.
async fn serve(connection: &mut Connection, bytes: &[u8], end: End) {
    connection.say(HubSays::Begin).await;
    for piece in bytes.chunks(100) {
        connection
            .send(ToShim::Chunk(Bytes::copy_from_slice(piece)))
            .await;
    }
    connection.say(HubSays::End(end)).await;
}

async fn receive(connection: &mut Connection) -> (Vec<u8>, End) {
    connection.say(HubSays::Begin).await;
    let mut bytes = Vec::new();
    loop {
        match connection.hear().await {
            ToHub::Chunk(chunk) => bytes.extend_from_slice(&chunk),
            ToHub::Control(ShimSays::End(end)) => return (bytes, end),
            other => panic!("{other:?} out of turn"),
        }
    }
}

#[tokio::test]
async fn an_input_goes_in_and_an_output_comes_out() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let dir = shim.folder.path();
    let mut order = script(
        dir,
        "cat in/sub/file; cp -r in/sub out/; echo more > out/more; exit 1",
    );
    order.fetch = vec![transfer("input", &dir.join("in"))];
    order.upload = vec![transfer("output", &dir.join("out"))];

    let (mut control, _) = hub.claimed(&order, 0).await;
    let bytes = packed("hello");
    let mut volume = asked_to_fetch(&hub, "input").await;
    serve(&mut volume, &bytes, end(&bytes)).await;

    let mut volume = asked_to_store(&hub, "output").await;
    let (bytes, claimed_end) = receive(&mut volume).await;
    assert_eq!(claimed_end, end(&bytes));
    volume.say(HubSays::Stored).await;
    let finished = control.finish().await;
    assert_eq!(
        (finished.text().as_str(), finished.exit),
        ("hello", Some(Exit::Code(1)))
    );

    let folder = tempfile::tempdir().unwrap();
    airside_archive::unpack(
        &bytes[..],
        folder.path(),
        &airside_archive::Limits::UNBOUNDED,
    )
    .unwrap();
    assert_eq!(read(folder.path(), "sub/file"), "hello");
    assert_eq!(read(folder.path(), "more"), "more\n");
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[tokio::test]
async fn a_damaged_or_cut_input_is_fetched_again() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let dir = shim.folder.path();
    let mut order = script(dir, "find in -type f; cat in/sub/file");
    order.fetch = vec![transfer("input", &dir.join("in"))];
    let (mut control, _) = hub.claimed(&order, 0).await;
    let good = packed("good");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stray"), "").unwrap();
    let mut other = Vec::new();
    airside_archive::pack(folder.path(), &mut other).unwrap();
    let mut volume = asked_to_fetch(&hub, "input").await;
    serve(&mut volume, &other, end(&good)).await;

    let mut volume = asked_to_fetch(&hub, "input").await;
    volume.say(HubSays::Begin).await;
    volume
        .send(ToShim::Chunk(Bytes::copy_from_slice(&good[..50])))
        .await;
    drop(volume);

    let mut volume = asked_to_fetch(&hub, "input").await;
    volume
        .say(HubSays::Refused {
            reason: "busy".into(),
            retry: true,
        })
        .await;

    let mut volume = asked_to_fetch(&hub, "input").await;
    serve(&mut volume, &good, end(&good)).await;
    assert_eq!(control.finish().await.text(), "in/sub/file\ngood");
}

#[tokio::test]
async fn an_input_that_stays_damaged_is_given_up() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut order = script(shim.folder.path(), "true");
    order.fetch = vec![transfer("input", &shim.folder.path().join("in"))];
    let (mut control, _) = hub.claimed(&order, 0).await;
    let bytes = packed("good");
    for _ in 0..3 {
        let mut volume = asked_to_fetch(&hub, "input").await;
        serve(
            &mut volume,
            &bytes,
            End {
                sha256: "00".repeat(32),
                ..end(&bytes)
            },
        )
        .await;
    }
    broken(control.finish().await.exit, &["damaged", "/in"]);
}

#[tokio::test]
async fn an_input_that_cannot_be_is_given_up_at_once() {
    for bytes in [None, Some(b"no archive at all".to_vec())] {
        let hub = Hub::start().await;
        let shim = Shim::start(&hub);
        let mut order = script(shim.folder.path(), "true");
        order.fetch = vec![transfer("input", &shim.folder.path().join("in"))];
        let (mut control, _) = hub.claimed(&order, 0).await;
        let mut volume = asked_to_fetch(&hub, "input").await;
        let words = match bytes {
            None => {
                volume
                    .say(HubSays::Refused {
                        reason: "no such volume".into(),
                        retry: false,
                    })
                    .await;
                "no such volume"
            }
            Some(bytes) => {
                serve(&mut volume, &bytes, end(&bytes)).await;
                "cannot unpack"
            }
        };
        broken(control.finish().await.exit, &[words, "/in"]);
    }
}

#[tokio::test]
async fn an_upload_is_repeated_until_it_is_stored() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let dir = shim.folder.path();
    let mut order = script(dir, "head -c 3000000 /dev/urandom > out/file; rm -rf gone");
    order.upload = vec![
        transfer("one", &dir.join("out")),
        transfer("two", &dir.join("gone")),
    ];
    let (mut control, _) = hub.claimed(&order, 0).await;

    let mut volume = asked_to_store(&hub, "one").await;
    volume.say(HubSays::Begin).await;
    assert!(matches!(volume.hear().await, ToHub::Chunk(_)));
    drop(volume);
    let mut volume = asked_to_store(&hub, "one").await;
    let (bytes, claimed_end) = receive(&mut volume).await;
    assert_eq!(claimed_end, end(&bytes));
    // Stored, but the answer is lost.
    drop(volume);
    let mut volume = asked_to_store(&hub, "one").await;
    volume.say(HubSays::Stored).await;

    let mut volume = asked_to_store(&hub, "two").await;
    receive(&mut volume).await;
    volume.say(HubSays::Stored).await;
    assert_eq!(control.finish().await.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_refused_upload_breaks_the_step() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut order = script(shim.folder.path(), "true");
    order.upload = vec![transfer("one", &shim.folder.path().join("out"))];
    let (mut control, _) = hub.claimed(&order, 0).await;
    let mut volume = asked_to_store(&hub, "one").await;
    receive(&mut volume).await;
    volume
        .say(HubSays::Refused {
            reason: "the hash differs".into(),
            retry: false,
        })
        .await;
    broken(control.finish().await.exit, &["the hash differs", "/out"]);
}

fn broken(exit: Option<Exit>, words: &[&str]) {
    match exit {
        Some(Exit::Broken(text)) => {
            for word in words {
                assert!(text.contains(word), "{text}");
            }
        }
        other => panic!("{other:?}"),
    }
}
