//! A storage that does not say the same twice: another mirror shares it, or its answers are old.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::{
    io,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use airside_mirror::{Folder, KeptContent, Note, NoteName, Noted, Storage};
use airside_oci::Digest;
use async_trait::async_trait;
use bytes::Bytes;
use common::{MirrorStage, layer};
use futures::Stream;

/// A folder that answers wrongly when it is told to.
struct Odd {
    folder: Folder,
    /// So many times more it says that it has nothing.
    blind: AtomicU32,
    /// True if content cannot be read.
    unreadable: AtomicBool,
}

#[async_trait]
impl Storage for Odd {
    async fn size(&self, digest: &Digest) -> io::Result<Option<u64>> {
        let less = |left: u32| left.checked_sub(1);
        let blind = self
            .blind
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        match blind {
            Ok(_) => Ok(None),
            Err(_) => self.folder.size(digest).await,
        }
    }

    async fn read(
        &self,
        digest: &Digest,
        from: u64,
        length: u64,
    ) -> io::Result<Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>> {
        if self.unreadable.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.folder.read(digest, from, length).await
    }

    async fn keep(&self, digest: &Digest, file: &Path) -> io::Result<()> {
        self.folder.keep(digest, file).await
    }

    async fn note(&self, name: &NoteName) -> io::Result<Option<Note>> {
        self.folder.note(name).await
    }

    async fn write_note(&self, name: &NoteName, text: &str) -> io::Result<()> {
        self.folder.write_note(name, text).await
    }

    async fn notes(&self) -> io::Result<Vec<Noted>> {
        self.folder.notes().await
    }

    async fn remove_note(&self, name: &NoteName) -> io::Result<()> {
        self.folder.remove_note(name).await
    }

    async fn list(&self) -> io::Result<Vec<KeptContent>> {
        self.folder.list().await
    }

    async fn remove(&self, digest: &Digest) -> io::Result<()> {
        self.folder.remove(digest).await
    }
}

/// A mirror with a blob that was fetched once.
async fn house() -> (MirrorStage, Arc<Odd>, tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let odd = Arc::new(Odd {
        folder: Folder::open(folder.path()).unwrap(),
        blind: AtomicU32::new(0),
        unreadable: AtomicBool::new(false),
    });
    let house = MirrorStage::with(Arc::default(), odd.clone()).await;
    let image = house.registry.push("a", "1", &[layer(100)]);
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    assert_eq!(house.get(&blob).await.body.unwrap(), layer(100));
    assert_eq!(house.registry.count("GET "), 1);
    (house, odd, folder, blob)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_brought_while_we_looked_is_not_fetched_again() {
    let (house, odd, _folder, blob) = house().await;
    odd.blind.store(1, Ordering::Relaxed);
    assert_eq!(house.get(&blob).await.body.unwrap(), layer(100));
    assert_eq!(house.registry.count("GET "), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_to_be_kept_and_cannot_be_read_is_fetched() {
    let (house, odd, _folder, blob) = house().await;
    odd.unreadable.store(true, Ordering::Relaxed);
    assert_eq!(house.get(&blob).await.body.unwrap(), layer(100));
    assert_eq!(house.registry.count("GET "), 2);
}
