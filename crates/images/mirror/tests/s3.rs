//! Storage in a bucket, which several mirrors share. What stands for S3 is moto.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::{sync::Arc, time::Duration};

use airside_mirror::{BucketSettings, CollectRules, S3};
use airside_secret_managers::testing::Moto;
use common::{CountingRegistry, MirrorStage, layer};

fn bucket(moto: &Moto) -> BucketSettings {
    moto.make_bucket("images");
    BucketSettings {
        bucket: "images".to_owned(),
        prefix: "mirror/".to_owned(),
        region: "us-east-1".to_owned(),
        endpoint: Some(moto.url.clone()),
        keys: Some(moto.keys.clone()),
        authorities: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_mirrors_share_what_one_of_them_fetched() {
    let Some(moto) = Moto::start() else {
        return;
    };
    let settings = bucket(&moto);
    let storage = || Arc::new(S3::open(settings.clone()).unwrap());
    let registry = Arc::new(CountingRegistry::default());
    let first = MirrorStage::with(registry.clone(), storage()).await;
    let second = MirrorStage::with(registry.clone(), storage()).await;
    let bytes = layer(700_000);
    let image = registry.push("a", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/a/blobs/{}", image.layers[0]);
    assert_eq!(first.get(&blob).await.body.unwrap(), bytes);
    assert_eq!(first.get("/v2/a/manifests/1").await.status, 200);
    common::until("it is kept", || registry.count("GET ") == 2).await;
    for house in [&first, &second] {
        assert_eq!(house.get(&blob).await.body.unwrap(), bytes);
        let part = house.ask("GET", &blob, &[("range", "bytes=10-19")]).await;
        assert_eq!(
            (part.status, part.body.unwrap()),
            (206, bytes[10..20].to_vec().into())
        );
        let manifest = house
            .get(&format!("/v2/a/manifests/{}", image.manifest))
            .await;
        assert_eq!(
            manifest.headers["content-type"],
            "application/vnd.oci.image.manifest.v1+json"
        );
    }
    assert_eq!(registry.count("GET "), 2);

    // One collects what the other may be about to read: it is fetched again.
    let rules = |bytes| CollectRules {
        unused: Duration::from_secs(3600),
        bytes,
    };
    assert_eq!(first.mirror.collect(&rules(None)).await.unwrap().removed, 0);
    assert_eq!(
        first.mirror.collect(&rules(Some(0))).await.unwrap().removed,
        2
    );
    assert_eq!(
        second
            .mirror
            .collect(&rules(Some(0)))
            .await
            .unwrap()
            .removed,
        0
    );
    assert_eq!(second.get(&blob).await.body.unwrap(), bytes);
    assert_eq!(registry.count("GET "), 3);

    // Two links, a tag, and that it is public; without them the registry is asked.
    let storage = storage();
    common::forget_notes(&*storage, 4).await;
    assert_eq!(second.get(&blob).await.body.unwrap(), bytes);
    assert_eq!(registry.count("GET "), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_cannot_be_reached_is_told() {
    let settings = BucketSettings {
        bucket: "images".to_owned(),
        prefix: String::new(),
        region: "us-east-1".to_owned(),
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        keys: Some(airside_aws::Keys {
            id: "x".to_owned(),
            secret: "x".to_owned(),
            token: None,
        }),
        authorities: None,
    };
    let registry = Arc::new(CountingRegistry::default());
    let house = MirrorStage::with(registry.clone(), Arc::new(S3::open(settings).unwrap())).await;
    registry.push("a", "1", &[layer(10)]);
    assert_eq!(house.get("/v2/a/manifests/1").await.status, 500);
}
