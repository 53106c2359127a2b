//! The registry client of the resource types against it, and folders that become images.

#![allow(clippy::unwrap_used)]

mod common;

use std::{fs, os::unix::fs::symlink, path::Path};

use airside_model::Version;
use airside_registry::{Error, RepositoryAccess, RepositoryName, team_repository};
use airside_resource_types::{InRequest, Object, OutRequest};
use common::{RegistryStage, grant};
use serde_json::{Value, json};

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn source(house: &RegistryStage, name: &str, token: &str) -> Object {
    let repository = format!("127.0.0.1:{}/{name}", house.port);
    object(json!({"repository": repository, "tag": "v1", "username": "airside", "password": token}))
}

fn artifact(folder: &Path) {
    fs::create_dir_all(folder.join("rootfs/etc")).unwrap();
    fs::write(folder.join("rootfs/etc/mark"), "made").unwrap();
    symlink("mark", folder.join("rootfs/etc/link")).unwrap();
    fs::write(folder.join("metadata.json"), "{}").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_becomes_an_image_once() {
    let (house, artifacts, images) = (
        RegistryStage::open().await,
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    artifact(artifacts.path());
    let name = team_repository("main").join("artifacts").unwrap();
    let (registry, folder) = (house.registry.clone(), artifacts.path().to_owned());
    let (first, second) = tokio::task::spawn_blocking({
        let name = name.clone();
        move || {
            (
                registry.publish(&name, &folder).unwrap(),
                registry.publish(&name, &folder).unwrap(),
            )
        }
    })
    .await
    .unwrap();
    assert!(first.is_new && !second.is_new);
    assert_eq!(first.digest, second.digest);
    assert!(house.registry.is_there(&name, &first.digest));

    let other = house
        .registry
        .token(&grant("team/other", RepositoryAccess::Delete));
    let own = house
        .registry
        .token(&grant(name.as_str(), RepositoryAccess::Pull));
    let pull = |token: String| {
        let request = InRequest {
            source: source(&house, name.as_str(), &token),
            params: Object::new(),
            version: Version::from([
                ("tag", "v1".to_owned()),
                ("digest", first.digest.to_string()),
            ]),
        };
        let folder = images.path().to_owned();
        tokio::task::spawn_blocking(move || {
            airside_resource_types::fetch("registry-image", request, &folder, &mut std::io::sink())
        })
    };
    let refused = pull(other).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("403"), "{refused}");
    pull(own).await.unwrap().unwrap();
    assert_eq!(
        fs::read_to_string(images.path().join("rootfs/etc/link")).unwrap(),
        "made"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_resource_type_pushes_and_pulls() {
    let (house, artifacts, folder) = (
        RegistryStage::open().await,
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    artifact(artifacts.path());
    let name = RepositoryName::parse("team/main/app").unwrap();
    let token = house
        .registry
        .token(&grant(name.as_str(), RepositoryAccess::Push));
    let from = source(&house, name.as_str(), &token);
    let to = source(&house, "team/main/app/copy", &token);
    let (registry, path, own) = (
        house.registry.clone(),
        artifacts.path().to_owned(),
        name.clone(),
    );
    let digest = tokio::task::spawn_blocking(move || registry.publish(&own, &path).unwrap().digest)
        .await
        .unwrap();
    let place = folder.path().to_owned();
    let pushed = tokio::task::spawn_blocking(move || {
        let version =
            airside_model::Version::from([("tag", "v1"), ("digest", digest.to_string().as_str())]);
        let get = InRequest {
            source: from,
            params: object(json!({"format": "oci"})),
            version,
        };
        fs::create_dir(place.join("image")).unwrap();
        airside_resource_types::fetch(
            "registry-image",
            get,
            &place.join("image"),
            &mut std::io::sink(),
        )
        .unwrap();
        let put = OutRequest {
            source: to,
            params: object(json!({"image": "image/image.tar"})),
        };
        let pushed =
            airside_resource_types::push("registry-image", put, &place, &mut std::io::sink());
        pushed.unwrap().version
    });
    let version = pushed.await.unwrap();
    let answer = house
        .ask("GET", "/v2/team/main/app/copy/manifests/v1", &[], b"")
        .await;
    assert_eq!(answer.header("docker-content-digest"), version.0["digest"]);
}

#[tokio::test]
async fn a_folder_without_a_root_file_system_is_none() {
    let (house, folder) = (RegistryStage::open().await, tempfile::tempdir().unwrap());
    let name = team_repository("main");
    let refused = house.registry.publish(&name, folder.path());
    assert!(matches!(refused, Err(Error::NoRootfs(_))), "{refused:?}");
    // A link would lead anywhere on the server's machine.
    symlink("/etc", folder.path().join("rootfs")).unwrap();
    let refused = house.registry.publish(&name, folder.path());
    assert!(matches!(refused, Err(Error::NoRootfs(_))), "{refused:?}");
}
