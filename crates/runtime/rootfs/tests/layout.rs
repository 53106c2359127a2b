//! Images from OCI layouts.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, dead_code)]

mod common;

use std::fs;

use airside_rootfs::{Error, ImageSource, Images};
use common::{Compression, image, layer, options};
use tempfile::{TempDir, tempdir};

struct Fixture {
    store: TempDir,
    layout: TempDir,
    images: Images,
}

impl Fixture {
    fn new() -> Self {
        let store = tempdir().unwrap();
        let images = Images::open(store.path(), options()).unwrap();
        Self {
            store,
            layout: tempdir().unwrap(),
            images,
        }
    }

    fn source(&self) -> ImageSource {
        ImageSource::OciLayout(self.layout.path().to_owned())
    }

    fn leftovers(&self) -> usize {
        fs::read_dir(self.store.path().join("tmp")).unwrap().count()
    }
}

#[tokio::test]
async fn layers_are_merged_and_settings_read() {
    let fixture = Fixture::new();
    let digest = image(
        fixture.layout.path(),
        &[
            (layer(&[("etc/a", "1"), ("etc/b", "1")]), Compression::None),
            (
                layer(&[("etc/.wh.a", ""), ("etc/b", "2")]),
                Compression::Gzip,
            ),
            (layer(&[("etc/c", "3")]), Compression::Zstd),
        ],
    );
    let rootfs = fixture.images.ensure(&fixture.source()).await.unwrap();
    assert_eq!(rootfs.digest.to_string(), digest);
    assert_eq!(rootfs.env, ["PATH=/bin", "GREETING=hello"]);
    assert_eq!(rootfs.user.as_deref(), Some("1000"));
    let [root] = rootfs.layers.as_slice() else {
        panic!("one merged folder")
    };
    assert!(!root.join("etc/a").exists());
    assert_eq!(fs::read_to_string(root.join("etc/b")).unwrap(), "2");
    assert_eq!(fs::read_to_string(root.join("etc/c")).unwrap(), "3");
    assert_eq!(fixture.leftovers(), 0);
}

#[tokio::test]
async fn an_image_is_made_once() {
    let fixture = Fixture::new();
    image(
        fixture.layout.path(),
        &[(layer(&[("f", "1")]), Compression::None)],
    );
    let source = fixture.source();
    let (a, b) = tokio::join!(
        fixture.images.ensure(&source),
        fixture.images.ensure(&source)
    );
    let rootfs = a.unwrap();
    assert_eq!(rootfs, b.unwrap());
    // A mark inside shows that it is not unpacked again, not even after a restart.
    fs::write(rootfs.layers[0].join("mark"), "").unwrap();
    let images = Images::open(fixture.store.path(), options()).unwrap();
    let again = images.ensure(&source).await.unwrap();
    assert!(again.layers[0].join("mark").exists());
}

#[tokio::test]
async fn images_that_nobody_uses_go_and_come_back() {
    use std::time::Duration;
    let fixture = Fixture::new();
    image(
        fixture.layout.path(),
        &[(layer(&[("f", "1")]), Compression::None)],
    );
    let images = &fixture.images;
    let rootfs = images.ensure(&fixture.source()).await.unwrap();
    let hour = Duration::from_secs(3600);
    assert_eq!(images.idle(hour).unwrap(), [], "it was just asked for");
    let digest = rootfs.digest.clone();
    assert_eq!(
        images.idle(Duration::ZERO).unwrap(),
        std::slice::from_ref(&digest)
    );
    assert!(!images.remove(&digest).unwrap(), "somebody has it");
    assert!(rootfs.layers[0].join("f").exists());
    let root = rootfs.layers[0].clone();
    drop(rootfs);
    assert!(images.remove(&digest).unwrap());
    assert!(!root.exists());
    assert_eq!(fixture.leftovers(), 0);
    assert!(!images.remove(&digest).unwrap(), "it is gone already");
    let again = images.ensure(&fixture.source()).await.unwrap();
    assert!(again.layers[0].join("f").exists());
}

#[tokio::test]
async fn what_is_no_image_is_said_to_be_none() {
    let fixture = Fixture::new();
    let missing = ImageSource::OciLayout("/no/such/image".into());
    let error = fixture.images.ensure(&missing).await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let error = fixture.images.ensure(&fixture.source()).await.unwrap_err();
    assert!(matches!(error, Error::NoLayout { .. }), "{error}");
    fs::write(fixture.layout.path().join("index.json"), "{}").unwrap();
    let error = fixture.images.ensure(&fixture.source()).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn damage_is_found_and_leaves_nothing() {
    let fixture = Fixture::new();
    let layers = [(layer(&[("f", "1")]), Compression::Gzip)];
    let blobs = fixture.layout.path().join("blobs/sha256");
    image(fixture.layout.path(), &layers);
    for name in fs::read_dir(&blobs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
    {
        image(fixture.layout.path(), &layers);
        let path = blobs.join(&name);
        let mut data = fs::read(&path).unwrap();
        let middle = data.len() / 2;
        data[middle] ^= 1;
        fs::write(&path, data).unwrap();
        let error = fixture.images.ensure(&fixture.source()).await.unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        assert!(!error.is_temporary());
        fs::remove_file(&path).unwrap();
        let error = fixture.images.ensure(&fixture.source()).await.unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert_eq!(fixture.leftovers(), 0);
    }
}

#[tokio::test]
async fn a_bomb_is_refused_before_it_fills_the_disk() {
    let zeros = "\0".repeat(70 << 20);
    let fixture = Fixture::new();
    let bomb = layer(&[("small", "1"), ("bomb", &zeros)]);
    image(fixture.layout.path(), &[(bomb, Compression::Zstd)]);
    let error = fixture.images.ensure(&fixture.source()).await.unwrap_err();
    assert!(error.to_string().contains("holds more than"), "{error}");
    assert!(!error.is_temporary());
    assert_eq!(fixture.leftovers(), 0);
}

#[test]
fn opening_sweeps_what_a_crash_left() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.store.path().join("tmp/0")).unwrap();
    Images::open(fixture.store.path(), options()).unwrap();
    assert_eq!(fixture.leftovers(), 0);
}

#[tokio::test]
async fn processes_that_share_a_store_leave_each_other_what_they_use() {
    let (store, layout) = (tempdir().unwrap(), tempdir().unwrap());
    image(layout.path(), &[(layer(&[("f", "x")]), Compression::None)]);
    let open = || {
        let shared_by = Some("p".to_owned());
        let options = airside_rootfs::Options {
            shared_by,
            ..options()
        };
        Images::open(store.path(), options).unwrap()
    };
    let (one, other) = (open(), open());
    let source = ImageSource::OciLayout(layout.path().to_owned());
    let (mine, theirs) = tokio::join!(one.ensure(&source), other.ensure(&source));
    let (mine, theirs) = (mine.unwrap(), theirs.unwrap());
    assert_eq!(mine, theirs);
    let stored = one.stored().unwrap();
    assert_eq!(stored.len(), 1);
    assert!(stored[0].bytes > 0);
    drop(mine);
    assert!(!one.remove(&stored[0].digest).unwrap(), "the other uses it");
    drop(theirs);
    // What a process used it holds until it asks for another image, or ends.
    drop(other);
    assert!(one.remove(&stored[0].digest).unwrap());
    assert!(one.stored().unwrap().is_empty());
    drop(one);
    assert_eq!(open().stored().unwrap(), []);
}
