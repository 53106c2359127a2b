//! Answers of a mirror, and the requests to the registry that they take.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Fault, Login, MirrorStage, layer, until};

#[tokio::test(flavor = "multi_thread")]
async fn content_is_fetched_once_and_stays_as_it_is() {
    let house = MirrorStage::start().await;
    let bytes = layer(300_000);
    let image = house
        .registry
        .push("a/b", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/a/b/blobs/{}", image.layers[0]);
    for _ in 0..3 {
        let got = house.get(&blob).await;
        assert_eq!(got.status, 200);
        assert_eq!(got.body.unwrap(), bytes);
        assert_eq!(got.headers["docker-content-digest"], image.layers[0]);
    }
    assert_eq!(house.registry.count("GET "), 1);
    let manifest = house
        .get(&format!("/v2/a/b/manifests/{}", image.manifest))
        .await;
    let again = house
        .get(&format!("/v2/a/b/manifests/{}", image.manifest))
        .await;
    assert_eq!(manifest.body, again.body);
    let kind = "application/vnd.oci.image.manifest.v1+json";
    assert_eq!(
        (
            &manifest.headers["content-type"],
            &again.headers["content-type"]
        ),
        (&kind.parse().unwrap(), &kind.parse().unwrap())
    );
    assert_eq!(house.registry.count("GET "), 2);

    // Notes are only notes: two links, and that it is public.
    let storage = airside_mirror::Folder::open(house.folder.path()).unwrap();
    common::forget_notes(&storage, 3).await;
    let folders = std::fs::read_dir(house.folder.path().join("notes")).unwrap();
    assert_eq!(folders.count(), 0, "empty folders go");
    assert_eq!(house.get(&blob).await.body.unwrap(), bytes);
    assert_eq!(house.registry.count("GET "), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_share_one_read_and_are_served_while_it_comes() {
    let house = MirrorStage::start().await;
    let bytes = layer(1_000_000);
    let image = house.registry.push("a", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    house.registry.hold(&blob);
    let asking: Vec<_> = (0..8).map(|_| house.get(&blob)).collect();
    let asking = futures::future::join_all(asking);
    let release = async {
        until("the registry is asked", || {
            house.registry.count("GET ") == 1
        })
        .await;
        house.registry.release(&blob);
    };
    let (got, ()) = tokio::join!(asking, release);
    assert!(
        got.iter()
            .all(|got| got.body.as_deref() == Some(&bytes[..]))
    );
    assert_eq!(house.registry.count("GET "), 1);
    assert_eq!(house.registry.bytes(), bytes.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_at_the_shutdown_is_served_to_its_end() {
    let house = MirrorStage::start().await;
    let bytes = layer(1_000_000);
    let image = house.registry.push("a", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    house.registry.hold(&blob);
    let shutdown = async {
        until("the registry is asked", || {
            house.registry.count("GET ") == 1
        })
        .await;
        house.stop.cancel();
        until("nobody else is let in", || {
            std::net::TcpStream::connect(("127.0.0.1", house.port)).is_err()
        })
        .await;
        assert!(!house.served.is_finished());
        house.registry.release(&blob);
    };
    let (got, ()) = tokio::join!(house.get(&blob), shutdown);
    assert_eq!(got.body.as_deref(), Some(&bytes[..]));
    until("it ends", || house.served.is_finished()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bytes_are_never_whole_and_never_kept() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("a", "1", &[layer(200_000)]);
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    house.registry.fail(Some(Fault::WrongBytes));
    // Whether the answer has begun when they turn out to be wrong is a matter of time.
    let got = house.get(&blob).await;
    assert!(got.status == 502 || got.body.is_none(), "{got:?}");
    house.registry.fail(None);
    assert_eq!(house.get(&blob).await.body.unwrap(), layer(200_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bytes_that_come_in_one_piece_are_refused_with_words() {
    let house = MirrorStage::start().await;
    // A single byte: this registry sends all that is longer in two.
    let image = house.registry.push("a", "1", &[layer(1)]);
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    house.registry.fail(Some(Fault::WrongBytes));
    let got = house.get(&blob).await;
    assert_eq!(got.status, 502);
    let words = String::from_utf8(got.body.unwrap().to_vec()).unwrap();
    assert!(words.contains("the registry sent sha256:"), "{words}");
    house.registry.fail(None);
    assert_eq!(house.get(&blob).await.body.unwrap(), layer(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_and_heads() {
    let house = MirrorStage::start().await;
    let bytes = layer(1000);
    let image = house.registry.push("a", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    let head = house.ask("HEAD", &blob, &[]).await;
    assert_eq!(
        (head.status, &head.headers["content-length"]),
        (200, &"1000".parse().unwrap())
    );
    assert_eq!(house.registry.count("GET "), 0);
    // First while it comes, then from what is kept.
    for _ in 0..2 {
        let got = house.ask("GET", &blob, &[("range", "bytes=10-19")]).await;
        assert_eq!(
            (got.status, got.body.unwrap()),
            (206, bytes[10..20].to_vec().into())
        );
        assert_eq!(got.headers["content-range"], "bytes 10-19/1000");
    }
    let got = house.ask("GET", &blob, &[("range", "bytes=1000-")]).await;
    assert_eq!(got.status, 416);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_means_what_the_registry_says_and_what_it_said_while_it_is_away() {
    let house = MirrorStage::start().await;
    let first = house.registry.push("a", "1", &[layer(10)]);
    let digest = |got: &common::Got| {
        got.headers["docker-content-digest"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    let got = house.get("/v2/a/manifests/1").await;
    assert_eq!((got.status, digest(&got)), (200, first.manifest));
    let second = house.registry.push("a", "1", &[layer(20)]);
    let got = house.get("/v2/a/manifests/1").await;
    assert_eq!(digest(&got), second.manifest);
    assert!(!got.headers.contains_key("airside-stale"));

    let house = house.again().await;
    for fault in [Fault::Away, Fault::Status(503, 1), Fault::Status(429, 60)] {
        house.registry.fail(Some(fault));
        let got = house.get("/v2/a/manifests/1").await;
        assert_eq!(
            (got.status, digest(&got)),
            (200, second.manifest.clone()),
            "{fault:?}"
        );
        assert_eq!(got.headers["airside-stale"], "true");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_wants_to_be_left_alone_is() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("a", "1", &[layer(10)]);
    house.registry.fail(Some(Fault::Status(429, 60)));
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    for _ in 0..3 {
        assert_eq!(house.get(&blob).await.status, 429);
    }
    assert_eq!(house.registry.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_served() {
    let house = MirrorStage::start().await;
    house.registry.push("a", "1", &[layer(10)]);
    for (path, status) in [
        ("/v2/a/manifests/2", 404),
        ("/v2/b/manifests/1", 404),
        ("/v2/a/tags/list", 404),
        ("/v2/a/blobs/1", 404),
        ("/", 404),
        ("/v2/", 200),
        ("/healthz", 200),
    ] {
        assert_eq!(house.get(path).await.status, status, "{path}");
    }
    assert_eq!(house.ask("PUT", "/v2/a/manifests/1", &[]).await.status, 405);
    // A registry that is not listed is not asked.
    let other = common::ask(
        "GET",
        &format!("{}/v2/a/manifests/1?ns=127.0.0.1:1", house.url()),
        &[],
    )
    .await;
    assert_eq!(other.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_anybody_gets_are_asked_for_by_the_mirror() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("a", "1", &[layer(10)]);
    house.registry.serve_to(Login::Token);
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    assert_eq!(house.get(&blob).await.status, 200);
    assert_eq!(house.get("/v2/a/manifests/1").await.status, 200);
    assert_eq!(house.registry.count("GET /token"), 1);
    // So it is known to be public.
    let house = house.again().await;
    house.registry.fail(Some(Fault::Away));
    assert_eq!(house.get(&blob).await.status, 200);
}
