//! Copies ahead of requests, and garbage.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::Duration;

use airside_mirror::{Ahead, CollectRules};
use common::{Fault, Login, MirrorStage, layer};

fn ahead(image: &str, platforms: &[&str]) -> Ahead {
    Ahead {
        image: format!("r.example/{image}").parse().unwrap(),
        platforms: platforms.iter().map(|&it| it.to_owned()).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_there_for_the_platforms_that_are_wanted() {
    let house = MirrorStage::start().await;
    let amd = house.registry.push("a", "amd", &[layer(100), layer(200)]);
    let arm = house.registry.push("a", "arm", &[layer(300)]);
    let index =
        house
            .registry
            .push_index("a", "1", &[("linux/amd64", &amd), ("linux/arm64", &arm)]);
    let copied = ahead(&format!("a@{index}"), &["linux/amd64"]);
    house.mirror.copy(&copied).await.unwrap();
    assert_eq!(house.registry.count("GET "), 5);
    house.mirror.copy(&copied).await.unwrap();
    assert_eq!(house.registry.count("GET "), 5);

    house.registry.fail(Some(Fault::Away));
    let kept = [
        format!("manifests/{index}"),
        format!("manifests/{}", amd.manifest),
        format!("blobs/{}", amd.config),
        format!("blobs/{}", amd.layers[1]),
    ];
    for path in kept {
        assert_eq!(
            house.get(&format!("/v2/a/{path}")).await.status,
            200,
            "{path}"
        );
    }
    assert_eq!(
        house
            .get(&format!("/v2/a/blobs/{}", arm.layers[0]))
            .await
            .status,
        502
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_not_anybody_may_pull_is_not_copied() {
    let house = MirrorStage::start().await;
    house.registry.push("a", "1", &[layer(10)]);
    house.registry.serve_to(Login::Only("Basic x".to_owned()));
    let error = house
        .mirror
        .copy(&ahead("a:1", &[]))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("answered 401"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_goes_and_comes_back() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("a", "1", &[layer(100)]);
    house.mirror.copy(&ahead("a:1", &[])).await.unwrap();
    let rules = |seconds, bytes| CollectRules {
        unused: Duration::from_secs(seconds),
        bytes,
    };
    assert_eq!(
        house
            .mirror
            .collect(&rules(60, None))
            .await
            .unwrap()
            .removed,
        0
    );
    assert_eq!(
        house
            .mirror
            .collect(&rules(60, Some(0)))
            .await
            .unwrap()
            .removed,
        3
    );
    let got = house.get(&format!("/v2/a/blobs/{}", image.layers[0])).await;
    assert_eq!(got.body.unwrap(), layer(100));
}
