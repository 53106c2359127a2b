//! Garbage collection: removed and kept content.

#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use common::{MANIFEST, REPOSITORY, RegistryStage, digest, manifest};

const DAY: Duration = Duration::from_secs(86_400);

/// Sets the times of a folder back, as if no client had come for two days.
#[expect(clippy::disallowed_methods, reason = "times of files")]
fn age(folder: &Path) {
    let then = SystemTime::now() - 2 * DAY;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                File::open(path).unwrap().set_modified(then).unwrap();
            }
        }
    }
}

fn blobs(house: &RegistryStage) -> usize {
    fs::read_dir(house.folder.path().join("blobs"))
        .unwrap()
        .count()
}

#[tokio::test]
async fn what_is_tagged_or_young_stays_and_the_rest_goes() {
    let house = RegistryStage::open().await;
    house.push_image("tagged", "v1").await;
    let untagged = house.push_image("untagged", "old").await;
    house
        .ask(
            "DELETE",
            &format!("/v2/{REPOSITORY}/manifests/old"),
            &[],
            b"",
        )
        .await;
    house.push_blob(b"orphan").await;
    // Nothing is older than the grace.
    assert_eq!(house.registry.collect(DAY).await.unwrap(), 0);

    age(house.folder.path());
    house.push_blob(b"just came").await;
    // The untagged manifest, its blob and layer, and the orphan; the empty configuration is still
    // in use.
    assert_eq!(house.registry.collect(DAY).await.unwrap(), 4);
    let get = async |rest: String| {
        house
            .ask("GET", &format!("/v2/{REPOSITORY}/{rest}"), &[], b"")
            .await
            .status
            .as_u16()
    };
    assert_eq!(get("manifests/v1".to_owned()).await, 200);
    assert_eq!(
        get(format!("manifests/{}", digest(untagged.as_bytes()))).await,
        404
    );
    assert_eq!(get(format!("blobs/{}", digest(b"tagged"))).await, 200);
    assert_eq!(get(format!("blobs/{}", digest(b"orphan"))).await, 404);
    assert_eq!(get(format!("blobs/{}", digest(b"just came"))).await, 200);
    assert_eq!(blobs(&house), 4);
    assert_eq!(house.registry.collect(DAY).await.unwrap(), 0);
}

#[tokio::test]
async fn what_is_pulled_stays() {
    let house = RegistryStage::open().await;
    let text = house.push_image("layer", "v1").await;
    let place = format!("/v2/{REPOSITORY}/manifests");
    house.ask("DELETE", &format!("{place}/v1"), &[], b"").await;
    age(house.folder.path());
    let own = format!("{place}/{}", digest(text.as_bytes()));
    assert_eq!(house.ask("HEAD", &own, &[], b"").await.status, 200);
    assert_eq!(house.registry.collect(DAY).await.unwrap(), 0);
    assert_eq!(house.ask("GET", &own, &[], b"").await.status, 200);
}

#[tokio::test]
async fn what_another_repository_needs_stays() {
    let house = RegistryStage::open().await;
    let blob = house.push_blob(b"{}").await;
    let mount = format!("/v2/team/main/copy/blobs/uploads/?mount={blob}&from={REPOSITORY}");
    house.ask("POST", &mount, &[], b"").await;
    let copy = manifest(&blob, &[]);
    let put = house
        .ask(
            "PUT",
            "/v2/team/main/copy/manifests/v1",
            &[("content-type", MANIFEST)],
            copy.as_bytes(),
        )
        .await;
    assert_eq!(put.status, 201);
    age(house.folder.path());
    house.registry.collect(DAY).await.unwrap();
    assert_eq!(
        house
            .ask("GET", &format!("/v2/{REPOSITORY}/blobs/{blob}"), &[], b"")
            .await
            .status,
        404
    );
    assert_eq!(
        house
            .ask("GET", &format!("/v2/team/main/copy/blobs/{blob}"), &[], b"")
            .await
            .status,
        200
    );
}
