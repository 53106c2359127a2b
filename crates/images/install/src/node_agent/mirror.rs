//! The part of the node agent that gives containerd images from the mirror and from other nodes.

use airside_image_rules::NODE_AGENT;
use airside_kube_objects::{
    meta::{name_labels, namespaced},
    pod,
    rbac::Account,
};
use airside_mirror::Registry;
use airside_node_agent::mirror::PEERS_AUDIENCE;
use k8s_openapi::api::core::v1::{
    ContainerPort, EnvVar, Service, ServicePort, ServiceSpec, Volume, VolumeMount,
};

use crate::trust::{TRUST_FILE, trust_mount, trust_volume};

/// Choices of an administrator about mirrored registries on nodes.
#[derive(Clone, Debug)]
pub struct NodeMirrorInstall {
    pub namespace: String,
    pub registries: Vec<Registry>,
    /// URL of the mirror, such as `http://airside-images-mirror.airside-images.svc:5000`.
    pub mirror: Option<String>,
    /// True if the mirror resolves tags.
    pub tags: bool,
    /// True if the ConfigMap of the operator's installation has certificates of the user's own.
    pub own_authority: bool,
}

/// Port of each node's loopback that containerd asks.
const MIRROR_PORT: u16 = 5001;
/// Port of the pods' network that other agents ask.
const PEERS_PORT: u16 = 5002;
/// Service by which agents find each other.
const PEERS_SERVICE: &str = "airside-node-peers";
/// Directory of containerd's settings for registries.
const REGISTRIES_DIRECTORY: &str = "/etc/containerd/certs.d";
const REGISTRIES_VOLUME: &str = "registries";
const PEERS: &str = "peers";

impl NodeMirrorInstall {
    /// Options of `airside node`.
    pub(super) fn args(&self) -> Vec<String> {
        let namespace = &self.namespace;
        let registries = self.registries.iter();
        let mut args: Vec<String> = registries
            .map(|registry| format!("--mirror-registry={registry}"))
            .collect();
        args.extend(self.mirror.iter().map(|url| format!("--mirror={url}")));
        if self.tags {
            args.push("--mirror-tags".to_owned());
        }
        if self.own_authority {
            args.push(format!("--mirror-ca={TRUST_FILE}"));
        }
        let account = Account::new(namespace, NODE_AGENT).user_name();
        args.push(format!("--mirror-listen=0.0.0.0:{MIRROR_PORT}"));
        args.push(format!("--share={PEERS_SERVICE}.{namespace}.svc"));
        args.push(format!("--share-port={PEERS_PORT}"));
        args.push(format!("--share-account={account}"));
        args
    }

    pub(super) fn env() -> EnvVar {
        pod::env_of_field("POD_IP", "status.podIP")
    }

    pub(super) fn ports() -> [ContainerPort; 2] {
        [
            pod::loopback_port("mirror", MIRROR_PORT),
            pod::port(PEERS, PEERS_PORT),
        ]
    }

    pub(super) fn mounts(&self) -> Vec<VolumeMount> {
        let mut mounts = vec![
            pod::mount(REGISTRIES_VOLUME, REGISTRIES_DIRECTORY),
            pod::read_only_mount(PEERS, "/run/airside/peers"),
        ];
        mounts.extend(self.own_authority.then(trust_mount));
        mounts
    }

    pub(super) fn volumes(&self) -> Vec<Volume> {
        let mut volumes = vec![
            pod::host_directory_volume(REGISTRIES_VOLUME, REGISTRIES_DIRECTORY),
            pod::token_volume(PEERS, PEERS_AUDIENCE),
        ];
        volumes.extend(self.own_authority.then(trust_volume));
        volumes
    }

    /// The Service without an address of its own by whose name agents find each other.
    pub(super) fn service(&self) -> Service {
        Service {
            metadata: namespaced(&self.namespace, PEERS_SERVICE),
            spec: Some(ServiceSpec {
                cluster_ip: Some("None".to_owned()),
                publish_not_ready_addresses: Some(true),
                selector: Some(name_labels(NODE_AGENT)),
                ports: Some(vec![ServicePort {
                    name: Some(PEERS.to_owned()),
                    port: i32::from(PEERS_PORT),
                    ..ServicePort::default()
                }]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        }
    }
}
