//! Outputs on their way to the hub: cut, damaged, repeated, or none of the sender's business.

use std::path::Path;

use crate::stand::{OUTPUT, Peer, Stand, claimed, refused};
use airside_archive::Hasher;
use airside_hub::Session;
use airside_model::VolumeId;
use airside_protocol::{End, HubSays, ShimSays, ToHub};
use bytes::Bytes;

/// A packed tree, and what ends its stream.
fn packed(dir: &Path) -> (Bytes, End) {
    std::fs::create_dir(dir).unwrap();
    std::fs::write(dir.join("file"), "content of the output\n".repeat(5000)).unwrap();
    let mut hasher = Hasher::new(Vec::new());
    airside_archive::pack(dir, &mut hasher).unwrap();
    let (bytes, digest) = hasher.finish();
    (
        Bytes::from(bytes),
        End {
            sha256: digest.sha256,
            bytes: digest.bytes,
        },
    )
}

struct Scene {
    stand: Stand,
    _session: Session,
    _control: Peer,
    key: String,
    stream: Bytes,
    end: End,
}

impl Scene {
    async fn new() -> Self {
        let stand = Stand::new().await;
        let session = stand.attach();
        let (control, answer) = stand.claim(stand.claim_by("a")).await;
        let key = claimed(answer).session;
        let (stream, end) = packed(&stand.dir.path().join("tree"));
        Self {
            stand,
            _session: session,
            _control: control,
            key,
            stream,
            end,
        }
    }

    async fn upload(&self, volume: &str) -> (Peer, HubSays) {
        let mut peer = self.stand.dial().await;
        let (handle, session) = (self.stand.handle.clone(), self.key.clone());
        peer.say(ShimSays::Upload {
            handle,
            session,
            volume: VolumeId::new(volume),
        })
        .await;
        let answer = peer.hears().await;
        (peer, answer)
    }

    fn stored(&self) -> Option<String> {
        let path = self.stand.volumes.path(&VolumeId::new(OUTPUT))?;
        Some(std::fs::read_to_string(path.join("file")).unwrap())
    }

    /// A whole upload, from the beginning.
    async fn upload_all(&self) {
        let (mut peer, answer) = self.upload(OUTPUT).await;
        assert_eq!(answer, HubSays::Begin);
        peer.send(ToHub::Chunk(self.stream.clone())).await;
        peer.say(ShimSays::End(self.end.clone())).await;
        assert_eq!(peer.hears().await, HubSays::Stored);
        assert_eq!(self.stored().unwrap().lines().count(), 5000);
    }
}

#[tokio::test]
async fn a_cut_upload_leaves_nothing_and_may_be_repeated() {
    let scene = Scene::new().await;
    let (mut peer, answer) = scene.upload(OUTPUT).await;
    assert_eq!(answer, HubSays::Begin);
    peer.send(ToHub::Chunk(scene.stream.slice(..scene.stream.len() / 2)))
        .await;
    drop(peer);
    assert_eq!(scene.stored(), None);
    scene.upload_all().await;
}

#[tokio::test]
async fn a_stored_output_is_not_asked_for_again() {
    let scene = Scene::new().await;
    scene.upload_all().await;
    let (_, answer) = scene.upload(OUTPUT).await;
    assert_eq!(answer, HubSays::Stored);
}

#[tokio::test]
async fn a_damaged_upload_is_refused_and_may_be_repeated() {
    let scene = Scene::new().await;
    let (mut peer, _) = scene.upload(OUTPUT).await;
    peer.send(ToHub::Chunk(scene.stream.clone())).await;
    let wrong = End {
        sha256: "0".repeat(64),
        ..scene.end.clone()
    };
    peer.say(ShimSays::End(wrong)).await;
    let (reason, retry) = refused(peer.hears().await);
    assert!(reason.contains("damaged on its way") && retry, "{reason}");
    assert_eq!(scene.stored(), None);
    scene.upload_all().await;
}

#[tokio::test]
async fn a_session_may_touch_only_what_its_order_names() {
    let scene = Scene::new().await;
    let (_, answer) = scene.upload("v-of-somebody-else").await;
    let (reason, retry) = refused(answer);
    assert!(
        reason.contains("does not belong to this step") && !retry,
        "{reason}"
    );

    let mut peer = scene.stand.dial().await;
    let volume = VolumeId::new(OUTPUT);
    let handle = scene.stand.handle.clone();
    peer.say(ShimSays::Upload {
        handle,
        session: "guessed".to_owned(),
        volume,
    })
    .await;
    assert!(
        refused(peer.hears().await)
            .0
            .contains("session is not valid")
    );
}
