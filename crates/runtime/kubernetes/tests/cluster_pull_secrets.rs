//! Images that take credentials, from a registry that asks for them. As `cluster.rs`, and `CLUSTER`
//! and `AIRSIDE_ROOTFS` must be set, as `make test-cluster-all` does.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use airside_model::WorkerName;
use airside_runtime::{Cause, Image, Observed, PlacementSpec, PullSource, Runtime};
use airside_runtime_kubernetes::{KubeRuntime, NamesInMemory, PullSecretNames};
use common::{Cluster, target, wait_for};
use serde_json::json;

fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../dev")
        .join(name)
}

fn cluster_tool(args: &[&str]) -> String {
    let output = Command::new(tool("cluster")).args(args).output().unwrap();
    assert!(output.status.success(), "dev/cluster {args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Ended with the test.
struct Registry(Child);

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A registry that the nodes reach and that knows one user; and the image it serves.
fn registry(folder: &Path) -> (Registry, String) {
    let rootfs = std::env::var("AIRSIDE_ROOTFS").expect("AIRSIDE_ROOTFS names an image");
    let (own, layout) = (folder.join("rootfs.tar"), folder.join("layout"));
    // An image of its own: kubelets remember which took credentials, and would ask the other tests
    // for them.
    fs::copy(rootfs, &own).unwrap();
    fs::write(folder.join("mark"), folder.to_str().unwrap()).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("--append")
        .arg("-C")
        .arg(folder)
        .arg("-f")
        .arg(&own);
    assert!(tar.arg("mark").status().unwrap().success());
    let mut image = Command::new(tool("image"));
    image.arg("layout").arg(&own).arg(&layout);
    assert!(image.status().unwrap().success());
    let host = cluster_tool(&["host-ip"]);
    let mut process = Command::new(tool("registry"))
        .args(["--user", "ci:right", "--host", &host])
        .arg(format!("small/image={}", layout.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let stdout = process.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut port).unwrap();
    let address = format!("{host}:{}", port.trim());
    cluster_tool(&["plain-registry", &address]);
    (Registry(process), format!("{address}/small/image:1"))
}

async fn remembered(names: &NamesInMemory) -> Vec<String> {
    names.all(&WorkerName::new("any")).await.unwrap()
}

async fn runtime(cluster: &Cluster, names: &NamesInMemory) -> KubeRuntime {
    let runtime = KubeRuntime::connect(target(&cluster.kubeconfig), cluster.installation.clone());
    let runtime = runtime.await.unwrap();
    runtime.remember_pull_secrets(Arc::new(names.clone()));
    runtime
}

fn step(cluster: &Cluster, image: &str, team: &str, password: &str, build: i64) -> PlacementSpec {
    let source = json!({"username": "ci", "password": password});
    let image = Image::Registry {
        reference: image.to_owned(),
        source: PullSource(source.as_object().unwrap().clone()),
        ask_registry: true,
        user: None,
    };
    let mut spec = cluster.spec(image, build);
    spec.labels.team = team.to_owned();
    spec
}

#[tokio::test]
async fn pods_of_a_team_share_a_secret_that_goes_with_them() {
    let Some(cluster) = Cluster::offered("pull").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (_registry, image) = registry(folder.path());
    // What outlives one runtime and is found by the next.
    let names = NamesInMemory::default();
    let first = runtime(&cluster, &names).await;

    let wrong = step(&cluster, &image, "main", "wrong", 1);
    first.place(&wrong).await.unwrap();
    let refused = |it: &Observed| {
        matches!(
            it,
            Observed::Doomed {
                cause: Cause::ImageRefused,
                ..
            }
        )
    };
    wait_for(&mut first.observe(), &wrong.handle, refused).await;

    let right = [("main", 2), ("main", 3), ("other", 4)]
        .map(|(team, build)| step(&cluster, &image, team, "right", build));
    for spec in &right {
        first.place(spec).await.unwrap();
        let started = |it: &Observed| matches!(it, Observed::Started { .. });
        wait_for(&mut first.observe(), &spec.handle, started).await;
    }
    let secret = |spec: &PlacementSpec| {
        let path = "jsonpath={.spec.imagePullSecrets[*].name}";
        cluster.kubectl(&["get", "pod", spec.handle.as_str(), "-o", path])
    };
    let [one, two, other] = [&right[0], &right[1], &right[2]].map(secret);
    assert_eq!(one, two);
    assert_ne!(one, other);
    assert_ne!(one, secret(&wrong));
    let there = || {
        let selector = format!("airside.dev/installation={}", cluster.installation);
        let listed = cluster.kubectl(&["get", "secrets", "-l", &selector, "-o", "name"]);
        listed.lines().count()
    };
    assert_eq!(there(), 3);

    // In use, and used just now.
    first.destroy(&wrong.handle).await.unwrap();
    first.tidy().await.unwrap();
    assert_eq!(there(), 3);
    drop(first);
    let second = runtime(&cluster, &names).await;
    let gone = |it: &Observed| matches!(it, Observed::Gone { .. });
    let mut stream = second.observe();
    for spec in [&right[2], &wrong] {
        second.destroy(&spec.handle).await.unwrap();
    }
    wait_for(&mut stream, &right[2].handle, gone).await;
    cluster.kubectl(&[
        "wait",
        "--for=delete",
        "pod",
        right[2].handle.as_str(),
        wrong.handle.as_str(),
    ]);
    second.tidy().await.unwrap();
    assert_eq!((there(), remembered(&names).await), (1, vec![one]));
    for spec in &right[..2] {
        second.destroy(&spec.handle).await.unwrap();
    }
    cluster.kubectl(&[
        "wait",
        "--for=delete",
        "pod",
        right[0].handle.as_str(),
        right[1].handle.as_str(),
    ]);
    second.tidy().await.unwrap();
    assert_eq!((there(), remembered(&names).await.len()), (0, 0));
}
