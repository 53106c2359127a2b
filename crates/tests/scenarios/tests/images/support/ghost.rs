//! Nodes that are only objects.

use serde_json::json;

use super::operator::Stage;

/// A node that is only an object. It is taken away with the test.
pub(crate) struct Ghost<'a>(&'a Stage, pub String);

impl<'a> Ghost<'a> {
    pub(crate) fn new(stage: &'a Stage, ready: &str) -> Self {
        let name = format!("ghost-{:08x}", rand::random::<u32>());
        let taint = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"airside.dev/ghost": "test"}}, "spec": {"unschedulable": true, "taints": taint},
        });
        stage.apply_text(&node.to_string());
        let status = json!({"status": {
            "conditions": [{"type": "Ready", "status": ready, "reason": "Test", "message": "",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "nodeInfo": {"operatingSystem": "linux", "architecture": "amd64", "bootID": "", "machineID": "",
                "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "",
                "osImage": "", "systemUUID": ""},
        }});
        let patch = status.to_string();
        stage.kubectl(&[
            "patch",
            "node",
            &name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
        Self(stage, name)
    }
}

impl Drop for Ghost<'_> {
    fn drop(&mut self) {
        let _ = self
            .0
            .try_kubectl(&["delete", "node", &self.1, "--ignore-not-found"]);
    }
}
