//! Every endpoint of the distribution specification, by its number there.

#![allow(clippy::unwrap_used)]

mod common;

use common::{INDEX, MANIFEST, REPOSITORY, RegistryStage, digest, manifest};
use serde_json::json;

fn path(rest: &str) -> String {
    format!("/v2/{REPOSITORY}/{rest}")
}

#[tokio::test]
async fn end_1_it_is_a_registry() {
    let house = RegistryStage::open().await;
    let answer = house.ask("GET", "/v2/", &[], b"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("docker-distribution-api-version"),
        "registry/2.0"
    );
}

#[tokio::test]
async fn end_2_blobs_whole_and_in_part() {
    let house = RegistryStage::open().await;
    let blob = house.push_blob(b"0123456789").await;
    let place = path(&format!("blobs/{blob}"));
    for (method, range, status, body, part) in [
        ("GET", "", 200, "0123456789", ""),
        ("HEAD", "", 200, "", ""),
        ("GET", "bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("GET", "bytes=7-", 206, "789", "bytes 7-9/10"),
        ("GET", "bytes=-2", 206, "89", "bytes 8-9/10"),
    ] {
        let headers = [("range", range)];
        let headers = if range.is_empty() {
            &[][..]
        } else {
            &headers[..]
        };
        let answer = house.ask(method, &place, headers, b"").await;
        assert_eq!(answer.status, status, "{method} {range}");
        assert_eq!(answer.body, body, "{method} {range}");
        assert_eq!(answer.header("content-range"), part, "{method} {range}");
        assert_eq!(answer.header("docker-content-digest"), blob);
    }
    let head = house.ask("HEAD", &place, &[], b"").await;
    assert_eq!(head.header("content-length"), "10");
    let outside = house
        .ask("GET", &place, &[("range", "bytes=10-")], b"")
        .await;
    assert_eq!(
        (outside.status.as_u16(), outside.header("content-range")),
        (416, "bytes */10")
    );
    let none = path(&format!("blobs/{}", digest(b"none")));
    let absent = house.ask("GET", &none, &[], b"").await;
    assert_eq!(
        (absent.status.as_u16(), absent.code().as_str()),
        (404, "BLOB_UNKNOWN")
    );
}

#[tokio::test]
async fn end_3_and_7_manifests_by_tag_and_digest() {
    let house = RegistryStage::open().await;
    let text = house.push_image("layer", "v1").await;
    let own = digest(text.as_bytes());
    for reference in ["v1", own.as_str()] {
        let place = path(&format!("manifests/{reference}"));
        let answer = house.ask("GET", &place, &[], b"").await;
        assert_eq!(answer.status, 200, "{reference}");
        assert_eq!(answer.body, text.as_bytes());
        assert_eq!(answer.header("content-type"), MANIFEST);
        assert_eq!(answer.header("docker-content-digest"), own);
        let head = house.ask("HEAD", &place, &[], b"").await;
        assert_eq!(head.header("content-length"), text.len().to_string());
    }
    let absent = house.ask("GET", &path("manifests/v2"), &[], b"").await;
    assert_eq!(
        (absent.status.as_u16(), absent.code().as_str()),
        (404, "MANIFEST_UNKNOWN")
    );

    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{"mediaType": MANIFEST, "digest": own, "size": 1}]});
    let kind = [("content-type", INDEX)];
    let answer = house
        .ask(
            "PUT",
            &path("manifests/all"),
            &kind,
            index.to_string().as_bytes(),
        )
        .await;
    assert_eq!(answer.status, 201);
    assert_eq!(
        answer.header("location"),
        path(&format!(
            "manifests/{}",
            digest(index.to_string().as_bytes())
        ))
    );
}

#[tokio::test]
async fn end_4_to_6_and_13_an_upload_in_pieces() {
    let house = RegistryStage::open().await;
    let begun = house.ask("POST", &path("blobs/uploads/"), &[], b"").await;
    assert_eq!(begun.status, 202);
    let place = begun.header("location").to_owned();

    let first = house
        .ask("PATCH", &place, &[("content-range", "0-3")], b"0123")
        .await;
    assert_eq!((first.status.as_u16(), first.header("range")), (202, "0-3"));
    let gap = house
        .ask("PATCH", &place, &[("content-range", "7-9")], b"789")
        .await;
    assert_eq!((gap.status.as_u16(), gap.header("range")), (416, "0-3"));
    let status = house.ask("GET", &place, &[], b"").await;
    assert_eq!(
        (status.status.as_u16(), status.header("range")),
        (204, "0-3")
    );
    let next = house.ask("PATCH", &place, &[], b"456").await;
    assert_eq!((next.status.as_u16(), next.header("range")), (202, "0-6"));

    let blob = digest(b"0123456789");
    let done = house
        .ask("PUT", &format!("{place}?digest={blob}"), &[], b"789")
        .await;
    assert_eq!(done.status, 201);
    assert_eq!(done.header("location"), path(&format!("blobs/{blob}")));
    let answer = house.ask("GET", done.header("location"), &[], b"").await;
    assert_eq!(answer.body, b"0123456789"[..]);
    let over = house.ask("GET", &place, &[], b"").await;
    assert_eq!(
        (over.status.as_u16(), over.code().as_str()),
        (404, "BLOB_UPLOAD_UNKNOWN")
    );

    let begun = house.ask("POST", &path("blobs/uploads/"), &[], b"").await;
    let place = begun.header("location").to_owned();
    let other = place.replace(REPOSITORY, "team/main/other");
    assert_eq!(house.ask("PATCH", &other, &[], b"x").await.status, 404);
    assert_eq!(house.ask("DELETE", &place, &[], b"").await.status, 204);
    assert_eq!(house.ask("PATCH", &place, &[], b"x").await.status, 404);
}

#[tokio::test]
async fn end_4b_an_upload_in_one_request() {
    let house = RegistryStage::open().await;
    let blob = house.push_blob(b"whole").await;
    let answer = house
        .ask("GET", &path(&format!("blobs/{blob}")), &[], b"")
        .await;
    assert_eq!(answer.body, b"whole"[..]);
}

#[tokio::test]
async fn end_8_tags_in_order_and_page_by_page() {
    let house = RegistryStage::open().await;
    let missing = house
        .ask("GET", "/v2/team/main/none/tags/list", &[], b"")
        .await;
    assert_eq!(
        (missing.status.as_u16(), missing.code().as_str()),
        (404, "NAME_UNKNOWN")
    );
    for tag in ["b", "a", "c"] {
        house.push_image(tag, tag).await;
    }
    let all = house.ask("GET", &path("tags/list"), &[], b"").await;
    assert_eq!(
        all.json(),
        json!({"name": REPOSITORY, "tags": ["a", "b", "c"]})
    );
    let page = house.ask("GET", &path("tags/list?n=2"), &[], b"").await;
    assert_eq!(page.json()["tags"], json!(["a", "b"]));
    let link = page.header("link");
    let next = link.trim_start_matches('<').split('>').next().unwrap();
    let rest = house.ask("GET", next, &[], b"").await;
    assert_eq!(rest.json()["tags"], json!(["c"]));
    assert_eq!(rest.header("link"), "");
    let none = house.ask("GET", &path("tags/list?n=0"), &[], b"").await;
    assert_eq!(none.json()["tags"], json!([]));
}

#[tokio::test]
async fn end_9_and_10_deleting() {
    let house = RegistryStage::open().await;
    let text = house.push_image("layer", "v1").await;
    house.push_image("layer", "v2").await;
    let own = digest(text.as_bytes());
    let delete = async |rest: String| {
        house
            .ask("DELETE", &path(&rest), &[], b"")
            .await
            .status
            .as_u16()
    };
    assert_eq!(delete("manifests/v1".to_owned()).await, 202);
    assert_eq!(delete("manifests/v1".to_owned()).await, 404);
    assert_eq!(
        house
            .ask("GET", &path("manifests/v2"), &[], b"")
            .await
            .status,
        200
    );
    assert_eq!(delete(format!("manifests/{own}")).await, 202);
    assert_eq!(
        house
            .ask("GET", &path("manifests/v2"), &[], b"")
            .await
            .status,
        404
    );
    let blob = digest(b"layer");
    assert_eq!(delete(format!("blobs/{blob}")).await, 202);
    assert_eq!(delete(format!("blobs/{blob}")).await, 404);
    assert_eq!(
        house
            .ask("GET", &path(&format!("blobs/{blob}")), &[], b"")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn end_11_a_blob_of_another_repository() {
    let house = RegistryStage::open().await;
    let blob = house.push_blob(b"shared").await;
    let there = format!("/v2/team/main/copy/blobs/{blob}");
    assert_eq!(house.ask("GET", &there, &[], b"").await.status, 404);
    let mount = format!("/v2/team/main/copy/blobs/uploads/?mount={blob}&from={REPOSITORY}");
    let mounted = house.ask("POST", &mount, &[], b"").await;
    assert_eq!(
        (mounted.status.as_u16(), mounted.header("location")),
        (201, there.as_str())
    );
    assert_eq!(house.ask("GET", &there, &[], b"").await.body, b"shared"[..]);
    // What is not there is to be uploaded as usual.
    for from in ["team/main/none", "team/other/app"] {
        let mount = format!("/v2/team/main/x/blobs/uploads/?mount={blob}&from={from}");
        assert_eq!(
            house.ask("POST", &mount, &[], b"").await.status,
            202,
            "{from}"
        );
    }
}

#[tokio::test]
async fn end_12_what_is_said_about_an_image() {
    let house = RegistryStage::open().await;
    let text = house.push_image("layer", "v1").await;
    let own = digest(text.as_bytes());
    let none = house
        .ask(
            "GET",
            &path(&format!("referrers/{}", digest(b"x"))),
            &[],
            b"",
        )
        .await;
    assert_eq!(
        (none.status.as_u16(), &none.json()["manifests"]),
        (200, &json!([]))
    );

    let config = house.push_blob(b"{}").await;
    let mut signature: serde_json::Value = serde_json::from_str(&manifest(&config, &[])).unwrap();
    signature["subject"] = json!({"mediaType": MANIFEST, "digest": own, "size": text.len()});
    signature["artifactType"] = json!("application/example.signature");
    let put = house
        .ask(
            "PUT",
            &path("manifests/sig"),
            &[("content-type", MANIFEST)],
            signature.to_string().as_bytes(),
        )
        .await;
    assert_eq!(
        (put.status.as_u16(), put.header("oci-subject")),
        (201, own.as_str())
    );
    let found = house
        .ask("GET", &path(&format!("referrers/{own}")), &[], b"")
        .await;
    assert_eq!(found.header("content-type"), INDEX);
    let listed = &found.json()["manifests"][0];
    assert_eq!(listed["artifactType"], "application/example.signature");
    assert_eq!(listed["digest"], digest(signature.to_string().as_bytes()));
    let filtered = house
        .ask(
            "GET",
            &path(&format!("referrers/{own}?artifactType=other")),
            &[],
            b"",
        )
        .await;
    assert_eq!(filtered.json()["manifests"], json!([]));
    assert_eq!(filtered.header("oci-filters-applied"), "artifactType");
}
