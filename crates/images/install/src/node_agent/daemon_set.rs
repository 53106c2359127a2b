//! The DaemonSet of the agent that keeps images.

use airside_image_operator::CA_CONFIG_MAP;
use airside_image_rules::{AUDIENCE, NODE_AGENT};
use airside_kube_objects::{meta, pod};
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet},
        core::v1::{Container, ContainerPort, PodSpec, Probe, Volume, VolumeMount},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{HEALTH_PORT, NodeAgentInstall, NodeMirrorInstall, on_every_node};

/// Comment above the DaemonSet.
pub(super) const COMMENT: &str = "\
The runtime's socket is root's, so the agent is root, without any capability. It mounts the
socket's directory, not the socket: a runtime that restarts makes its socket anew.";

const RUNTIME_VOLUME: &str = "runtime";
const IMAGES_VOLUME: &str = "images";
const OPERATOR_VOLUME: &str = "operator";
const TOKEN_VOLUME: &str = "token";

impl NodeAgentInstall {
    pub(super) fn daemon_set(&self, socket_directory: &str) -> DaemonSet {
        let spec = PodSpec {
            service_account_name: Some(NODE_AGENT.to_owned()),
            priority_class_name: Some("system-node-critical".to_owned()),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(5),
            tolerations: Some(on_every_node()),
            security_context: Some(pod::pod_of_user(0)),
            containers: vec![self.container(socket_directory)],
            volumes: Some(self.volumes(socket_directory)),
            ..PodSpec::default()
        };
        DaemonSet {
            metadata: meta::labelled(&self.namespace, NODE_AGENT),
            spec: Some(DaemonSetSpec {
                selector: meta::name_selector(NODE_AGENT),
                update_strategy: Some(DaemonSetUpdateStrategy {
                    rolling_update: Some(RollingUpdateDaemonSet {
                        max_unavailable: Some(IntOrString::String("25%".to_owned())),
                        max_surge: None,
                    }),
                    type_: None,
                }),
                template: pod::template(NODE_AGENT, spec),
                ..DaemonSetSpec::default()
            }),
            ..DaemonSet::default()
        }
    }

    fn container(&self, socket_directory: &str) -> Container {
        let mut env = vec![pod::env_of_field("NODE_NAME", "spec.nodeName")];
        env.extend(self.mirror.iter().map(|_| NodeMirrorInstall::env()));
        Container {
            name: "node".to_owned(),
            image: Some(self.image.clone()),
            args: Some(self.args()),
            env: Some(env),
            ports: Some(self.ports()),
            readiness_probe: Some(Probe {
                period_seconds: Some(2),
                ..pod::tcp_probe(HEALTH_PORT)
            }),
            resources: Some(pod::resources("10m", "32Mi", "256Mi")),
            security_context: Some(pod::locked_container()),
            volume_mounts: Some(self.mounts(socket_directory)),
            ..Container::default()
        }
    }

    fn ports(&self) -> Vec<ContainerPort> {
        let mut ports = vec![pod::port("health", HEALTH_PORT)];
        let registry = self.registry.iter();
        ports.extend(registry.map(|it| pod::loopback_port("registry", it.port)));
        ports.extend(self.mirror.iter().flat_map(|_| NodeMirrorInstall::ports()));
        ports
    }

    /// Mounts that the runtime unmounts on the node are unmounted in the agent's pod too.
    fn mounts(&self, socket_directory: &str) -> Vec<VolumeMount> {
        let following = |mount: VolumeMount| VolumeMount {
            mount_propagation: Some("HostToContainer".to_owned()),
            ..mount
        };
        let mut mounts = vec![
            following(pod::mount(RUNTIME_VOLUME, socket_directory)),
            following(pod::read_only_mount(IMAGES_VOLUME, &self.image_root)),
            pod::read_only_mount(OPERATOR_VOLUME, "/run/airside/operator"),
            pod::read_only_mount(TOKEN_VOLUME, "/run/airside/token"),
        ];
        mounts.extend(self.mirror.iter().flat_map(NodeMirrorInstall::mounts));
        mounts
    }

    fn volumes(&self, socket_directory: &str) -> Vec<Volume> {
        let mut operator = pod::config_map_volume(OPERATOR_VOLUME, CA_CONFIG_MAP);
        if let Some(config_map) = &mut operator.config_map {
            config_map.optional = Some(true);
        }
        let mut volumes = vec![
            // The agent reports a runtime that is not there; the kubelet must not wait for it.
            pod::host_directory_volume(RUNTIME_VOLUME, socket_directory),
            pod::host_directory_volume(IMAGES_VOLUME, &self.image_root),
            operator,
            pod::token_volume(TOKEN_VOLUME, AUDIENCE),
        ];
        volumes.extend(self.mirror.iter().flat_map(NodeMirrorInstall::volumes));
        volumes
    }
}
