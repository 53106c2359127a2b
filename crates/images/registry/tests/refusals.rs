//! Refusals: missing rights, bad requests, and uploads that were cut.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use airside_registry::{Grant, RepositoryAccess, Tokens, team_repository};
use common::{MANIFEST, REPOSITORY, RegistryStage, basic, digest, grant, manifest};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

#[tokio::test]
async fn without_a_token_there_is_nothing_to_see() {
    let house = RegistryStage::open().await;
    house.push_image("layer", "v1").await;
    for path in [
        "/v2/",
        "/v2/team/main/app/manifests/v1",
        "/v2/token",
        "/",
        "/v2/A/../x",
    ] {
        let answer = house.ask_as("GET", path, &[], b"").await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (401, "UNAUTHORIZED"),
            "{path}"
        );
        assert_eq!(answer.header("www-authenticate"), "Basic realm=\"airside\"");
    }
    let forged = Tokens::new(b"another key").issue(&grant("team/main", RepositoryAccess::Delete));
    let own = house.registry.token(&Grant {
        expires: 1,
        ..grant("team/main", RepositoryAccess::Delete)
    });
    for login in [
        basic(&forged),
        basic(&own),
        format!("Bearer {forged}"),
        "Basic !".to_owned(),
        "Digest x".to_owned(),
        "x".to_owned(),
    ] {
        let answer = house
            .ask_as("GET", "/v2/", &[("authorization", &login)], b"")
            .await;
        assert_eq!(answer.status, 401, "{login}");
    }
}

#[tokio::test]
async fn a_token_opens_what_it_says_and_nothing_else() {
    let house = RegistryStage::open().await;
    house.push_image("layer", "v1").await;
    let blob = digest(b"layer");
    let ours = basic(
        &house
            .registry
            .token(&grant(REPOSITORY, RepositoryAccess::Pull)),
    );
    let theirs = basic(
        &house
            .registry
            .token(&grant("team/other", RepositoryAccess::Delete)),
    );
    let place = format!("/v2/{REPOSITORY}/manifests/v1");
    let layer = format!("/v2/{REPOSITORY}/blobs/{blob}");
    for (login, method, path, status) in [
        (&ours, "GET", place.as_str(), 200),
        (&ours, "GET", layer.as_str(), 200),
        (&ours, "GET", "/v2/team/main/another/tags/list", 403),
        (&ours, "PUT", place.as_str(), 403),
        (&ours, "DELETE", place.as_str(), 403),
        (&ours, "POST", "/v2/team/main/app/blobs/uploads/", 403),
        (&theirs, "GET", place.as_str(), 403),
        (&theirs, "HEAD", layer.as_str(), 403),
        (&theirs, "DELETE", layer.as_str(), 403),
        (&theirs, "GET", "/v2/", 200),
    ] {
        let answer = house
            .ask_as(method, path, &[("authorization", login)], b"")
            .await;
        assert_eq!(answer.status, status, "{method} {path}");
    }
    // To know a digest opens nothing: the blob is on the same disk, and in none of their
    // repositories.
    let guess = format!("/v2/team/other/x/blobs/{blob}");
    assert_eq!(
        house
            .ask_as("GET", &guess, &[("authorization", &theirs)], b"")
            .await
            .status,
        404
    );
    let mount = format!("/v2/team/other/x/blobs/uploads/?mount={blob}&from={REPOSITORY}");
    assert_eq!(
        house
            .ask_as("POST", &mount, &[("authorization", &theirs)], b"")
            .await
            .status,
        202
    );
    assert_eq!(
        house
            .ask_as("GET", &guess, &[("authorization", &theirs)], b"")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_token_is_exchanged_for_a_lesser_one_only() {
    let house = RegistryStage::open().await;
    house.push_image("layer", "v1").await;
    let login = basic(
        &house
            .registry
            .token(&grant("team/main", RepositoryAccess::Push)),
    );
    let get = async |scope: &str| {
        let path = format!("/v2/token?service=airside&scope={scope}");
        house
            .ask_as("GET", &path, &[("authorization", &login)], b"")
            .await
    };
    let given = get("repository:team/main/app:pull").await.json();
    let bearer = format!("Bearer {}", given["token"].as_str().unwrap());
    assert!(given["expires_in"].as_u64().unwrap() <= 300);
    let place = format!("/v2/{REPOSITORY}/manifests/v1");
    for (method, path, status) in [
        ("GET", place.as_str(), 200),
        ("PUT", &place, 403),
        ("GET", "/v2/team/main/x/tags/list", 403),
    ] {
        let answer = house
            .ask_as(method, path, &[("authorization", &bearer)], b"")
            .await;
        assert_eq!(answer.status, status, "{method} {path}");
    }
    assert_eq!(get("repository:team/other/app:pull").await.status, 403);
    assert_eq!(get("repository:team/main/app:delete").await.status, 403);
    assert_eq!(get("repository:team/main/app:fly").await.status, 400);
    assert_eq!(get("registry:catalog:*").await.status, 400);
}

#[tokio::test]
async fn wrong_content_is_not_kept() {
    let house = RegistryStage::open().await;
    let post = format!(
        "/v2/{REPOSITORY}/blobs/uploads/?digest={}",
        digest(b"other")
    );
    let answer = house.ask("POST", &post, &[], b"this").await;
    assert_eq!(
        (answer.status.as_u16(), answer.code().as_str()),
        (400, "DIGEST_INVALID")
    );
    for bad in ["md5:00", "sha256:../../../etc/passwd", ""] {
        let post = format!("/v2/{REPOSITORY}/blobs/uploads/?digest={bad}");
        assert_eq!(
            house.ask("POST", &post, &[], b"x").await.code(),
            "DIGEST_INVALID",
            "{bad}"
        );
    }
    let config = house.push_blob(b"{}").await;
    let put = async |reference: &str, kind: &str, text: &str| {
        let path = format!("/v2/{REPOSITORY}/manifests/{reference}");
        let answer = house
            .ask("PUT", &path, &[("content-type", kind)], text.as_bytes())
            .await;
        (answer.status.as_u16(), answer.code())
    };
    let whole = manifest(&config, &[]);
    let dangling = manifest(&config, &[&digest(b"never pushed")]);
    let elsewhere = digest(b"x");
    let huge = format!(
        "{{\"annotations\": {{\"a\": \"{}\"}}}}",
        "x".repeat(4 << 20)
    );
    for (reference, kind, text, status, code) in [
        (
            "v1",
            MANIFEST,
            dangling.as_str(),
            400,
            "MANIFEST_BLOB_UNKNOWN",
        ),
        ("v1", MANIFEST, "no json", 400, "MANIFEST_INVALID"),
        ("v1", "text/plain", &whole, 400, "MANIFEST_INVALID"),
        ("v1", MANIFEST, &huge, 413, "SIZE_INVALID"),
        (&elsewhere, MANIFEST, &whole, 400, "DIGEST_INVALID"),
        ("..", MANIFEST, &whole, 400, "MANIFEST_INVALID"),
    ] {
        assert_eq!(
            put(reference, kind, text).await,
            (status, code.to_owned()),
            "{reference} {code}"
        );
    }
    assert_eq!(put("v1", MANIFEST, &whole).await.0, 201);
    let tmp = std::fs::read_dir(house.folder.path().join("tmp")).unwrap();
    assert_eq!(tmp.count(), 0);
    for method in ["POST", "PATCH"] {
        let answer = house
            .ask(method, &format!("/v2/{REPOSITORY}/tags/list"), &[], b"")
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (405, "UNSUPPORTED")
        );
    }
}

/// Sends the beginning of a piece and hangs up, as a client does that is killed.
async fn cut(house: &RegistryStage, place: &str) {
    let token = house
        .registry
        .token(&grant("team/main", RepositoryAccess::Push));
    let mut stream = TcpStream::connect(("127.0.0.1", house.port)).await.unwrap();
    let head = format!(
        "PATCH {place} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Length: 10\r\n\r\n0123",
        basic(&token)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

#[tokio::test]
async fn an_upload_that_was_cut_goes_on_where_it_was() {
    let house = RegistryStage::open().await;
    let begun = house
        .ask(
            "POST",
            &format!("/v2/{REPOSITORY}/blobs/uploads/"),
            &[],
            b"",
        )
        .await;
    let place = begun.header("location").to_owned();
    cut(&house, &place).await;
    let blob = digest(b"0123456789");
    let early = format!("/v2/{REPOSITORY}/blobs/{blob}");
    assert_eq!(house.ask("GET", &early, &[], b"").await.status, 404);
    let status = house.ask("GET", &place, &[], b"").await;
    assert_eq!(status.header("range"), "0-3");
    let done = house
        .ask(
            "PUT",
            &format!("{place}?digest={blob}"),
            &[("content-range", "4-9")],
            b"456789",
        )
        .await;
    assert_eq!(done.status, 201, "{:?}", done.body);
}

#[test]
fn a_grant_for_a_while_is_the_same_token() {
    let tokens = Tokens::new(b"k");
    let grant = || {
        Grant::steady(
            team_repository("main"),
            RepositoryAccess::Pull,
            Duration::from_secs(86_400 * 365),
        )
    };
    assert_eq!(tokens.issue(&grant()), tokens.issue(&grant()));
}

#[tokio::test]
async fn hostile_teams_push_no_more_than_their_quota() {
    let quotas = ["registry=100", "other/registry=none"];
    let quotas = quotas.map(|text| text.parse().unwrap());
    let house = RegistryStage::open_with_quotas(quotas.into_iter().collect()).await;
    let push = async |team: &str, data: &[u8]| {
        let repository = format!("team/{team}/app");
        let login = basic(
            &house
                .registry
                .token(&grant(&repository, RepositoryAccess::Push)),
        );
        let path = format!("/v2/{repository}/blobs/uploads/?digest={}", digest(data));
        let headers = [("authorization", login.as_str())];
        house.ask_as("POST", &path, &headers, data).await
    };
    assert_eq!(push("main", &[b'a'; 60]).await.status, 201);
    // What is there already costs nothing.
    assert_eq!(push("main", &[b'a'; 60]).await.status, 201);
    let refused = push("main", &[b'b'; 60]).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (403, "DENIED")
    );
    let words = String::from_utf8_lossy(&refused.body).into_owned();
    let expected =
        "team `main` is over its quota of registry: the limit is 100 bytes, 60 bytes are used";
    assert!(
        words.contains(expected) && words.contains("team/main/app 60 bytes"),
        "{words}"
    );
    assert_eq!(push("main", &[b'c'; 40]).await.status, 201);
    assert_eq!(house.registry.used_by("main").await.unwrap(), 100);
    // Others notice nothing.
    assert_eq!(push("third", &[b'b'; 60]).await.status, 201);
    assert_eq!(push("other", &[b'b'; 600]).await.status, 201);
}
