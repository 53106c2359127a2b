//! Pods in images of a registry: steps run as the images' users, and a digest alone is not a key to
//! an image that a node has. Needs a cluster: see `make test-cluster`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    thread,
};

use crate::support::{Namespace, cluster, teams::Team};
use airside_scenarios::{Registry, describe_image, layout, type_layout};
use serde_json::{Value, json};

/// A registry that nodes reach without TLS. What pipelines call its image.
fn reachable(namespace: &Namespace, layout: &Path, more: &[&str]) -> (Registry, String) {
    let host = namespace.host.to_string();
    let registry = Registry::start(layout, &[&["--host", &host], more].concat());
    let repository = registry.repository().replace("127.0.0.1", &host);
    cluster(&["plain-registry", &format!("{host}:{}", registry.port)]);
    (registry, repository)
}

/// A task in a pod whose `image_resource` is this one.
fn task(source: &str, user: &str, script: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "  - task: work\n    tags: [pods]\n    config:\n      platform: linux\n      \
         image_resource: {{type: registry-image, source: {{{source}, insecure: true}}}}\n      \
         run: {{path: sh{user}, args: [-c, {script}]}}\n"
    )
}

fn job(steps: &str) -> String {
    format!("jobs:\n- name: build\n  plan:\n{steps}")
}

/// A job whose task runs in the image of a get, which fetches no layers.
fn got(source: &str) -> String {
    format!(
        "resources:\n- name: image\n  type: registry-image\n  check_every: never\n  \
         source: {{{source}, tag: '1', insecure: true}}\n{}",
        job("  - {get: image, tags: [pods]}\n  \
             - {task: got, image: image, tags: [pods], config: {platform: linux, \
             run: {path: sh, args: [-c, 'echo got $(id -u)']}}}\n")
    )
}

#[test]
fn a_step_runs_as_the_user_of_its_image() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    describe_image(
        &layout,
        &json!({"User": "nonroot", "Cmd": ["sh", "-c", "echo itself $(id -u)"]}),
    );
    let (_registry, repository) = reachable(&namespace, &layout, &[]);
    let source = format!("repository: \"{repository}\"");
    let script = "touch mine; echo uid $(id -u) home $HOME";
    let by_uri = format!(
        "  - task: uri\n    tags: [pods]\n    config: {{platform: linux, \
         rootfs_uri: 'docker:///{repository}:1', \
         run: {{path: sh, args: [-c, 'echo uri $(id -u)']}}}}\n"
    );
    for settings in ["", "  pod_security: restricted\n"] {
        let server = namespace.server_with(settings);
        let fly = server.fly();
        fly.pipeline("p", &job(&task(&source, "", script)));
        let output = fly.trigger_and_watch("p/build").succeeded();
        let expected = "uid 65532 home /home/nonroot";
        assert!(output.stdout.contains(expected), "{settings}: {output:?}");
        // A user that the task names goes before the image's.
        for (user, expected) in [("0", "uid 0 "), ("65534", "uid 65534 ")] {
            fly.pipeline(
                "p",
                &job(&task(&source, &format!(", user: '{user}'"), script)),
            );
            let output = fly.trigger_and_watch("p/build").succeeded();
            assert!(output.stdout.contains(expected), "{settings}: {output:?}");
        }
        fly.pipeline("p", &got(&source));
        fly.run(&["check-resource", "-r", "p/image"]).succeeded();
        let output = fly.trigger_and_watch("p/build").succeeded();
        assert!(
            output.stdout.contains("got 65532"),
            "{settings}: {output:?}"
        );
        let itself = task(&source, "", "").replace("run: {path: sh, args: [-c, \"\"]}", "run: {}");
        fly.pipeline("p", &job(&itself));
        let output = fly.trigger_and_watch("p/build").succeeded();
        assert!(
            output.stdout.contains("itself 65532"),
            "{settings}: {output:?}"
        );
        namespace.wait_until_no_pods();
    }
    // Without TLS the server reaches no other machine's registry that only a reference names.
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline("p", &job(&by_uri));
    let output = fly.trigger_and_watch("p/build").ended_with(2);
    assert!(output.stdout.contains("--registry-on-nodes"), "{output:?}");
    namespace.wait_until_no_pods();
}

const SECRET: &str = "the text of a private image";

/// An image with a text that only its team may read.
fn private(folder: &Path) -> PathBuf {
    type_layout(folder, &format!("{SECRET} {}", rand::random::<u64>()))
}

/// The digest of a layout's image, and the length of its manifest.
fn manifest(layout: &Path) -> (String, u64) {
    let index = fs::read(layout.join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let digest = index["manifests"][0]["digest"].as_str().unwrap();
    let path = layout.join("blobs").join(digest.replace(':', "/"));
    (digest.to_owned(), fs::metadata(path).unwrap().len())
}

/// A registry that claims to have a manifest, for as long as the test runs. Gives its port.
fn liar(host: IpAddr, digest: &str, length: u64) -> u16 {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n\
         Docker-Content-Digest: {digest}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    let body = "x".repeat(usize::try_from(length).unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up is none of the test's business.
            let _ = lie(stream, &head, &body);
        }
    });
    port
}

fn lie(mut stream: TcpStream, head: &str, body: &str) -> std::io::Result<()> {
    let mut request = BufReader::new(stream.try_clone()?).lines();
    let first = request.next().transpose()?.unwrap_or_default();
    while request
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    if !first.contains("/manifests/") {
        return stream
            .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
    stream.write_all(head.as_bytes())?;
    if first.starts_with("HEAD") {
        Ok(())
    } else {
        stream.write_all(body.as_bytes())
    }
}

#[test]
fn a_hostile_registry_that_claims_a_digest_gives_no_pod_the_image() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let layout = private(folder.path());
    let (_registry, repository) = reachable(&namespace, &layout, &["--user", "ci:right"]);
    namespace.allow_pull_secrets();
    // On one node, so that the image is there.
    let server = namespace.server_with("  node_selector: {kubernetes.io/hostname: n1}\n");
    let fly = server.fly();
    let source = format!("repository: \"{repository}\", username: ci, password: right");
    fly.pipeline("p", &job(&task(&source, "", "cat /opt/resource/check")));
    let output = fly.trigger_and_watch("p/build").succeeded();
    assert!(output.stdout.contains(SECRET), "{output:?}");

    let (digest, length) = manifest(&layout);
    let port = liar(namespace.host, &digest, length);
    cluster(&["plain-registry", &format!("{}:{port}", namespace.host)]);
    let stranger = Team::create(&server, &fly, "strangers");
    let claimed = format!("repository: \"{}:{port}/any/name\"", namespace.host);
    let found = task(&claimed, "", "cat /opt/resource/check");
    let pinned = found.replace(
        "insecure: true}",
        &format!("insecure: true}}, version: {{digest: '{digest}'}}"),
    );
    let named = found.replace(
        ", insecure: true",
        ", username: u, password: p, insecure: true",
    );
    for (number, steps) in [found, pinned, named].iter().enumerate() {
        let build = stranger.run(&format!("p{number}"), &job(steps));
        let output = fly.watch(build).ended_with(2);
        assert!(!output.stdout.contains(SECRET), "{number}: {output:?}");
        assert!(output.stdout.contains("is damaged"), "{number}: {output:?}");
    }
    namespace.wait_until_no_pods();
}
