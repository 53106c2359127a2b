//! The mirror on a real cluster: containerd asks its own node, nodes ask each other and the mirror,
//! and a registry that counts says what is left for it. Needs a cluster: see `make test-cluster`.

use crate::support::mirror::MirrorHouse;
use airside_scenarios::{
    counting_registry::{Fault, Login},
    wait_until,
};

/// Bytes of the big image, which no node has seen before.
const NOISE: usize = 60_000_000;

#[test]
fn a_big_image_is_read_from_its_registry_once_for_all_nodes() {
    let Some(house) = MirrorHouse::with(&["--replicas=0", "--mirror-nodes-alone"]) else {
        return;
    };
    let image = house.push("big/image", NOISE);
    let nodes = house.nodes();
    for node in &nodes {
        house.pod(&format!("on-{node}"), "big/image:1", node, None);
    }
    for node in &nodes {
        house.runs(&format!("on-{node}"));
    }
    let (read, size) = (house.registry.bytes(), image.size);
    // Nodes may have the small system already.
    assert!(read >= NOISE as u64, "{read} of {size}");
    assert!(
        read * 10 <= size * 11,
        "{read} bytes were read of {size} for {} nodes",
        nodes.len()
    );

    // What a node has is for agents alone.
    let agent = &house.agents()[0];
    let blob = format!("/v1/blobs/{}", image.layers[1]);
    assert_eq!(house.ask_agent(agent, &blob, None), 401);
    assert_eq!(house.ask_agent(agent, &blob, Some("x")), 401);
    let audience = "--audience=peers.images.airside.dev";
    let stranger = house.kubectl(&["create", "token", "default", audience]);
    assert_eq!(house.ask_agent(agent, &blob, Some(stranger.trim())), 401);
    let elsewhere = house.stage.token("airside-node", &[]);
    assert_eq!(house.ask_agent(agent, &blob, Some(&elsewhere)), 401);
    let own = house.stage.token("airside-node", &[audience]);
    assert_eq!(house.ask_agent(agent, &blob, Some(&own)), 200);
    house.end();
}

#[test]
fn private_images_are_for_those_whose_own_login_opens_them() {
    let Some(house) = MirrorHouse::with(&["--replicas=0", "--mirror-tags"]) else {
        return;
    };
    let image = house.push("secret/image", 1_000_000);
    // user:password
    house
        .registry
        .serve_to(Login::Only("Basic dXNlcjpwYXNzd29yZA==".to_owned()));
    let server = format!("--docker-server={}", house.host());
    let secret = ["create", "secret", "docker-registry", "login", &server];
    let login = ["--docker-username=user", "--docker-password=password"];
    house.kubectl(&[&secret[..], &login].concat());
    let nodes = house.nodes();
    house.pod("owner", "secret/image:1", &nodes[0], Some("login"));
    house.runs("owner");
    let last = nodes.last().unwrap();
    house.pod("stranger", "secret/image:1", last, None);
    let reason = "{.status.containerStatuses[0].state.waiting.reason}";
    wait_until("the stranger is refused", || {
        ["ErrImagePull", "ImagePullBackOff"].contains(&house.field("stranger", reason).as_str())
    });
    house.pod("another-owner", "secret/image:1", last, Some("login"));
    house.runs("another-owner");
    // Both owners have it from one read.
    let (read, size) = (house.registry.bytes(), image.size);
    assert!(read * 10 <= size * 11, "{read} bytes were read of {size}");
    house.end();
}

#[test]
fn what_the_mirror_has_outlives_its_registry() {
    let Some(house) = MirrorHouse::with(&["--replicas=0", "--mirror-tags"]) else {
        return;
    };
    house.push("public/image", 1_000_000);
    let nodes = house.nodes();
    house.pod("before", "public/image:1", &nodes[0], None);
    house.runs("before");
    house.registry.fail(Some(Fault::Away));
    house.pod("after", "public/image:1", nodes.last().unwrap(), None);
    house.runs("after");
    house.end();
}
