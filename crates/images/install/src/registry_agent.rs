//! The agent that passes pulls of its node on to the server's registry, and does nothing else.

use airside_kube_objects::{Manifest, meta, pod, strings};
use airside_node_agent::{Authorities, Upstream};
use k8s_openapi::api::{
    apps::v1::{DaemonSet, DaemonSetSpec},
    core::v1::{Container, PodSpec},
};

use crate::{
    check::{InstallError, check_image, check_namespace},
    node_agent::on_every_node,
    trust::certificates_config_map,
};

/// Choices of an administrator about the agent that has no right at all.
#[derive(Clone, Debug)]
pub struct RegistryAgentInstall {
    pub namespace: String,
    /// Airside's own image, by the name that nodes pull.
    pub image: String,
    pub registry: Upstream,
    /// Authorities of the registry's certificate, where the image does not trust them already.
    pub authorities: Option<Authorities>,
    /// Port of each node's loopback.
    pub port: u16,
}

/// Name of the DaemonSet. The agent that keeps images has another: a cluster may run both.
const NAME: &str = "airside-node-registry";
const CA_CONFIG_MAP: &str = "airside-node-registry-ca";
const CA_VOLUME: &str = "registry-ca";
const CA_DIRECTORY: &str = "/etc/airside/registry-ca";
const CA_FILE: &str = "ca.pem";

impl RegistryAgentInstall {
    /// Returns the DaemonSet, and the ConfigMap of its authorities if there are any.
    pub fn manifest(&self) -> Result<Manifest, InstallError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let mut manifest = Manifest::new();
        if let Some(authorities) = &self.authorities {
            let config_map =
                certificates_config_map(&self.namespace, CA_CONFIG_MAP, CA_FILE, authorities.pem());
            manifest = manifest.with(&config_map);
        }
        Ok(manifest.with_comment(
            "It asks the API server nothing, and needs nothing of its node but a port of loopback.",
            &self.daemon_set(),
        ))
    }

    fn daemon_set(&self) -> DaemonSet {
        let has_ca = self.authorities.is_some();
        let spec = PodSpec {
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            termination_grace_period_seconds: Some(5),
            tolerations: Some(on_every_node()),
            security_context: Some(pod::unprivileged_pod()),
            containers: vec![self.container()],
            volumes: has_ca.then(|| vec![pod::config_map_volume(CA_VOLUME, CA_CONFIG_MAP)]),
            ..PodSpec::default()
        };
        DaemonSet {
            metadata: meta::labelled(&self.namespace, NAME),
            spec: Some(DaemonSetSpec {
                selector: meta::name_selector(NAME),
                template: pod::template(NAME, spec),
                ..DaemonSetSpec::default()
            }),
            ..DaemonSet::default()
        }
    }

    fn container(&self) -> Container {
        let has_ca = self.authorities.is_some();
        Container {
            name: "node".to_owned(),
            image: Some(self.image.clone()),
            args: Some(self.args()),
            ports: Some(vec![pod::loopback_port("registry", self.port)]),
            readiness_probe: Some(pod::tcp_probe(self.port)),
            resources: Some(pod::resources("10m", "32Mi", "256Mi")),
            security_context: Some(pod::locked_container()),
            volume_mounts: has_ca.then(|| vec![pod::read_only_mount(CA_VOLUME, CA_DIRECTORY)]),
            ..Container::default()
        }
    }

    fn args(&self) -> Vec<String> {
        let registry = self.registry.to_string();
        let listen = format!("0.0.0.0:{}", self.port);
        let mut args = strings(&["node", "--registry", &registry, "--listen", &listen]);
        if self.authorities.is_some() {
            args.extend([
                "--registry-ca".to_owned(),
                format!("{CA_DIRECTORY}/{CA_FILE}"),
            ]);
        }
        args
    }
}

#[cfg(test)]
mod tests;
