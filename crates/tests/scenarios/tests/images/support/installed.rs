//! Everything installed with agents as pods on both nodes; the operator is a process of the test,
//! so that no node has it.

use std::path::Path;

use serde_json::{Value, json};

use super::operator::{NAMESPACE, Operator, Registry, Stage};

const OURS: &str = "images.airside.dev/";
const INSTALLED: [&str; 4] = ["--replicas=0", "--no-admission", "--", "--heartbeat=2"];

pub(crate) struct Installed {
    pub(crate) stage: Stage,
    pub(crate) registry: Registry,
    _operator: Operator,
}

impl Installed {
    /// Nothing where no cluster of two nodes is offered. The registry has the repository
    /// `org/group/app`.
    pub(crate) fn offered(options: &[&str]) -> Option<Self> {
        let stage = Stage::offered()?;
        let nodes = stage.kubectl(&["get", "nodes", "-o", "name"]);
        if nodes.lines().count() < 2 {
            return None;
        }
        let registry = Registry::start(&stage, &["--made", "org/group/app"]);
        stage.cluster.ask(&["plain-registry", registry.host()]);
        let operator = stage.operator(&registry, options);
        stage.install_all(&INSTALLED);
        Some(Self {
            stage,
            registry,
            _operator: operator,
        })
    }

    pub(crate) fn image(&self, tag: &str) -> String {
        self.registry.image(&format!("org/group/app:{tag}"))
    }

    /// A set that is called `app`.
    pub(crate) fn apply(&self, spec: &Value) {
        self.stage.apply_set("app", spec);
    }

    pub(crate) fn wait_until_ready(&self) {
        let wait = ["wait", "--for=condition=Ready", "imageset/app"];
        let own = ["--timeout=120s", "-n", &self.stage.namespace];
        self.stage.kubectl(&[&wait[..], &own].concat());
    }

    /// The condition's status and reason.
    pub(crate) fn ready(&self) -> (String, String) {
        let set = self.stage.set("app").unwrap_or_default();
        let conditions = set["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.into_iter().flatten();
        let ready = conditions.find(|it| it["type"] == "Ready");
        let ready = ready.unwrap_or_default();
        let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    /// Adds to what else holds the set, or leaves only that.
    pub(crate) fn finalizers(&self, all: &[&str]) {
        let patch = json!({"metadata": {"finalizers": all}}).to_string();
        let set = ["patch", "imageset", "app", "-n", &self.stage.namespace];
        let merge = ["--type=merge", "-p", &patch];
        self.stage.kubectl(&[&set[..], &merge].concat());
    }

    /// The node's labels of ours that say `present`.
    pub(crate) fn labels(&self, node: &str) -> Vec<String> {
        let node = self.stage.get(&["node", node]).unwrap();
        let labels = node["metadata"]["labels"].as_object().unwrap();
        let ours = labels
            .iter()
            .filter(|(key, value)| key.starts_with(OURS) && *value == "present");
        ours.map(|(key, _)| key.clone()).collect()
    }

    /// Returns the report of the node's agent about images.
    pub(crate) fn listed(&self, node: &str) -> Vec<Value> {
        let said = self.stage.get(&["nodeimages", node]).unwrap_or_default();
        let images = said["status"]["images"].as_array();
        images.cloned().unwrap_or_default()
    }

    /// The names that the node's containerd has for images of the registry, and our marks.
    pub(crate) fn names(&self, node: &str) -> Vec<String> {
        let kubeconfig = self.stage.cluster.ask(&["kubeconfig"]);
        let state = Path::new(kubeconfig.trim()).parent().unwrap().join(node);
        let socket = state.join("private/run/containerd/containerd.sock");
        let socket = socket.to_str().unwrap();
        let list = ["--namespace", "k8s.io", "images", "list"];
        let listed = ["ctr", "--address", socket];
        let listed = self.stage.cluster.ask(&[&listed[..], &list].concat());
        let ours = listed
            .lines()
            .filter(|line| line.contains(self.registry.host()) || line.contains(OURS));
        ours.map(str::to_owned).collect()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let stage = &self.stage;
        let own = ["-n", &stage.namespace];
        let sets = ["delete", "imagesets", "--all", "--timeout=60s"];
        let _ = stage.try_kubectl(&[&sets[..], &own].concat());
        let _ = stage.try_kubectl(&["delete", "daemonset", "airside-node", "-n", NAMESPACE]);
    }
}
