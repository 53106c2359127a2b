//! A mirror never widens access.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Fault, Login, MirrorStage, layer, until};

const OWNER: &str = "Basic b3duZXI6c2VjcmV0";
const STRANGER: &str = "Basic c3RyYW5nZXI6c2VjcmV0";

async fn status(house: &MirrorStage, method: &str, path: &str, login: Option<&str>) -> u16 {
    let headers: Vec<(&str, &str)> = login
        .map(|login| ("authorization", login))
        .into_iter()
        .collect();
    house.ask(method, path, &headers).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_served_to_those_alone_whom_the_registry_serves() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("secret", "1", &[layer(100)]);
    house.registry.serve_to(Login::Only(OWNER.to_owned()));
    let paths = [
        format!("/v2/secret/blobs/{}", image.layers[0]),
        format!("/v2/secret/manifests/{}", image.manifest),
        "/v2/secret/manifests/1".to_owned(),
    ];
    for path in &paths {
        assert_eq!(status(&house, "GET", path, Some(OWNER)).await, 200);
        for method in ["GET", "HEAD"] {
            for login in [None, Some(STRANGER)] {
                let got = house
                    .ask(
                        method,
                        path,
                        &login
                            .map(|login| ("authorization", login))
                            .into_iter()
                            .collect::<Vec<_>>(),
                    )
                    .await;
                assert_eq!(got.status, 401, "{method} {path} {login:?}");
                // The registry's own question, so that the runtime logs in.
                assert_eq!(got.headers["www-authenticate"], "Basic realm=\"r\"");
                assert!(got.body.is_none_or(|body| body.len() < 200));
            }
        }
    }
    let heads = house.registry.count("HEAD ");
    assert_eq!(status(&house, "GET", &paths[0], Some(OWNER)).await, 200);
    assert_eq!(
        house.registry.count("HEAD "),
        heads,
        "a yes counts for a while"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_it_while_the_registry_cannot_be_asked_about_them() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("secret", "1", &[layer(100)]);
    house.registry.serve_to(Login::Only(OWNER.to_owned()));
    let blob = format!("/v2/secret/blobs/{}", image.layers[0]);
    assert_eq!(status(&house, "GET", &blob, Some(OWNER)).await, 200);
    house.registry.fail(Some(Fault::Away));
    assert_eq!(status(&house, "GET", &blob, Some(OWNER)).await, 200);
    for login in [None, Some(STRANGER)] {
        assert_eq!(status(&house, "GET", &blob, login).await, 502, "{login:?}");
    }
    // A new process remembers no answer.
    let house = house.again().await;
    assert_eq!(status(&house, "GET", &blob, Some(OWNER)).await, 502);
}

#[tokio::test(flavor = "multi_thread")]
async fn to_know_a_digest_opens_nothing() {
    let house = MirrorStage::start().await;
    let secret = house.registry.push("secret", "1", &[layer(100)]);
    house.registry.push("public", "1", &[layer(7)]);
    let blob = |name: &str| format!("/v2/{name}/blobs/{}", secret.layers[0]);
    assert_eq!(
        status(&house, "GET", &blob("secret"), Some(OWNER)).await,
        200
    );
    assert_eq!(
        status(&house, "GET", "/v2/public/manifests/1", None).await,
        200
    );
    // By way of another repository, which the registry serves without a login, and which does not
    // have it.
    assert_eq!(status(&house, "GET", &blob("public"), None).await, 404);
    assert_eq!(status(&house, "HEAD", &blob("public"), None).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_joins_a_fetch_is_asked_about_too() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("secret", "1", &[layer(100_000)]);
    house.registry.serve_to(Login::Only(OWNER.to_owned()));
    let blob = format!("/v2/secret/blobs/{}", image.layers[0]);
    house.registry.hold(&blob);
    let strangers = async {
        until("the registry is asked", || {
            house.registry.count("GET ") == 1
        })
        .await;
        let statuses = [
            status(&house, "GET", &blob, Some(STRANGER)).await,
            status(&house, "GET", &blob, None).await,
        ];
        house.registry.release(&blob);
        statuses
    };
    let (owner, strangers) = tokio::join!(status(&house, "GET", &blob, Some(OWNER)), strangers);
    assert_eq!((owner, strangers), (200, [401, 401]));
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_that_are_elsewhere_are_fetched_there_without_the_login() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("secret", "1", &[layer(100)]);
    house.registry.serve_to(Login::Only(OWNER.to_owned()));
    house.registry.lead_away();
    let blob = format!("/v2/secret/blobs/{}", image.layers[0]);
    assert_eq!(status(&house, "GET", &blob, Some(OWNER)).await, 200);
    let house = house.again().await;
    assert_eq!(status(&house, "GET", &blob, Some(STRANGER)).await, 401);
    assert_eq!(status(&house, "GET", &blob, Some(OWNER)).await, 200);
    // Once for the blob, and once for its first byte, to see that the registry does not lead to a
    // page for people.
    assert_eq!(house.registry.count("GET /elsewhere"), 2);
    assert_eq!(house.registry.bytes(), layer(100).len() as u64 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_login_pages_open_nothing_that_is_kept() {
    for page in [Fault::LoginPage, Fault::LoginElsewhere] {
        let house = MirrorStage::start().await;
        let image = house.registry.push("secret", "1", &[layer(100)]);
        house.registry.serve_to(Login::Only(OWNER.to_owned()));
        let blob = format!("/v2/secret/blobs/{}", image.layers[0]);
        let manifest = format!("/v2/secret/manifests/{}", image.manifest);
        for path in [&blob, &manifest] {
            assert_eq!(status(&house, "GET", path, Some(OWNER)).await, 200);
        }
        house.registry.fail(Some(page));
        for path in [&blob, &manifest, &"/v2/secret/manifests/1".to_owned()] {
            for method in ["GET", "HEAD"] {
                let got = status(&house, method, path, None).await;
                assert_eq!(got, 404, "{method} {path} {page:?}");
            }
        }
        // Nor does it count for later that there was a page.
        house.registry.fail(Some(Fault::Away));
        for path in [&blob, &manifest] {
            assert_eq!(status(&house, "GET", path, None).await, 502, "{page:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_manifest_without_an_end_is_given_up() {
    let house = MirrorStage::start().await;
    let image = house.registry.push("a", "1", &[layer(100)]);
    house.registry.fail(Some(Fault::Endless));
    let path = format!("/v2/a/manifests/{}", image.manifest);
    let got = house.get(&path).await;
    assert!(got.status == 502 || got.body.is_none(), "{}", got.status);
    let spool = house.folder.path().join("spool");
    until("nothing is left of it", || {
        std::fs::read_dir(&spool).unwrap().count() == 0
    })
    .await;
}
