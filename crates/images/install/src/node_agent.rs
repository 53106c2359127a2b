//! The agent that keeps images on its node: account, rights and DaemonSet.

mod daemon_set;
mod mirror;

use airside_image_rules::NODE_AGENT;
use airside_kube_objects::{
    Manifest,
    rbac::{Account, cluster_role, cluster_role_binding, rule},
    strings,
};
use airside_node_agent::Upstream;
use k8s_openapi::api::core::v1::Toleration;

use crate::check::{InstallError, check_image, check_namespace, check_path};

pub use mirror::NodeMirrorInstall;

/// Choices of an administrator about the agent that keeps images.
#[derive(Clone, Debug)]
pub struct NodeAgentInstall {
    pub namespace: String,
    /// Airside's own image or the agent's small one, by the name that nodes pull.
    pub image: String,
    /// Socket of every node's containerd.
    pub runtime_socket: String,
    /// A directory of every node, on the file system that has the images.
    pub image_root: String,
    /// True if there is an operator to ask before pulls.
    pub has_operator: bool,
    /// Further options of `airside node`, such as `--high-mark=80`.
    pub options: Vec<String>,
    /// The server's registry, if nodes pull from it.
    pub registry: Option<NodeRegistryPort>,
    /// Registries for which containerd asks the node itself first.
    pub mirror: Option<NodeMirrorInstall>,
    /// True if agents remove everything of theirs instead, before an uninstallation.
    pub clean: bool,
}

/// The server's registry as a port of each node's loopback.
#[derive(Clone, Debug)]
pub struct NodeRegistryPort {
    pub registry: Upstream,
    pub port: u16,
}

/// Port of the agent's probe, inside its pod.
const HEALTH_PORT: u16 = 8081;

/// Tolerates every taint: an agent belongs on every node.
pub(crate) fn on_every_node() -> Vec<Toleration> {
    vec![Toleration {
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    }]
}

impl NodeAgentInstall {
    /// Returns an installation with the defaults of containerd.
    pub fn new(namespace: &str, image: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            image: image.to_owned(),
            runtime_socket: "/run/containerd/containerd.sock".to_owned(),
            image_root: "/var/lib/containerd".to_owned(),
            has_operator: true,
            options: Vec::new(),
            registry: None,
            mirror: None,
            clean: false,
        }
    }

    /// Returns every object of the agent but its namespace.
    pub fn manifest(&self) -> Result<Manifest, InstallError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let socket_directory = match self.runtime_socket.rsplit_once('/') {
            Some((directory, name)) if !name.is_empty() => directory,
            _ => "",
        };
        for path in [socket_directory, &self.runtime_socket, &self.image_root] {
            check_path(path)?;
        }
        let mut manifest = Manifest::new();
        if let Some(mirror) = &self.mirror {
            manifest = manifest.with_comment(
                "Agents find each other by its name, also those that are not ready: they may have blobs.",
                &mirror.service(),
            );
        }
        Ok(manifest
            .and(self.rights())
            .with_comment(daemon_set::COMMENT, &self.daemon_set(socket_directory)))
    }

    /// Rights to read sets and nodes, and to write labels of nodes and `NodeImages`. A policy of
    /// the operator's installation limits them to the agent's own node: roles cannot.
    fn rights(&self) -> Manifest {
        let images = "images.airside.dev";
        let account = Account::new(&self.namespace, NODE_AGENT);
        let own = &["get", "create", "patch", "delete"];
        let mut rules = vec![
            rule(images, &["imagesets"], &["list", "watch"]),
            rule(images, &["nodeimages"], own),
            rule(images, &["nodeimages/status"], &["patch"]),
            rule("", &["nodes"], &["list", "watch", "patch"]),
        ];
        if self.mirror.is_some() {
            // The API server tells one agent who another agent is.
            rules.push(rule(
                "authentication.k8s.io",
                &["tokenreviews"],
                &["create"],
            ));
        }
        Manifest::new()
            .with(&account.object())
            .with(&cluster_role(NODE_AGENT, rules))
            .with(&cluster_role_binding(NODE_AGENT, &account))
    }

    fn args(&self) -> Vec<String> {
        let mut args = strings(&["node", "--images"]);
        args.push(format!("--runtime-socket={}", self.runtime_socket));
        args.push(format!("--image-root={}", self.image_root));
        args.push(format!("--health=0.0.0.0:{HEALTH_PORT}"));
        if self.has_operator {
            let operator = airside_image_operator::service_host(&self.namespace);
            let port = airside_image_operator::PORT;
            args.push(format!("--operator=https://{operator}:{port}"));
        }
        if let Some(registry) = &self.registry {
            args.push(format!("--registry={}", registry.registry));
            args.push(format!("--listen=0.0.0.0:{}", registry.port));
        }
        args.extend(self.mirror.iter().flat_map(NodeMirrorInstall::args));
        args.extend(self.options.iter().cloned());
        if self.clean {
            args.push("--clean".to_owned());
        }
        args
    }
}

#[cfg(test)]
mod tests;
