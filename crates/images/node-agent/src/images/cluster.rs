//! Writes of the agent to the API server: the labels of its own node, and its own `NodeImages`.
//! Both are written by server-side apply, each whole, so that a field that is left out is removed.

use std::collections::BTreeMap;

use airside_image_rules::{NodeImages, NodeImagesStatus, label};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Map, Value, json};

/// Name of the agent as a field manager.
const MANAGER: &str = airside_image_rules::NODE_AGENT;

pub(crate) struct Cluster {
    node: String,
    nodes: Api<Node>,
    own: Api<NodeImages>,
    /// The node's object that our `NodeImages` belongs to, once that is there.
    owner: Option<String>,
}

impl Cluster {
    pub(crate) fn new(client: &Client, node: &str) -> Self {
        Self {
            node: node.to_owned(),
            nodes: Api::all(client.clone()),
            own: Api::all(client.clone()),
            owner: None,
        }
    }

    /// Returns the last reported status of this node.
    pub(crate) async fn reported_status(&self) -> Result<NodeImagesStatus, kube::Error> {
        let object = self.own.get_opt(&self.node).await?;
        Ok(object.and_then(|object| object.status).unwrap_or_default())
    }

    /// Sets the labels with our prefix to exactly these.
    pub(crate) async fn label(&self, labels: &BTreeMap<String, String>) -> Result<(), kube::Error> {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.node, "labels": labels},
        });
        let ours = PatchParams::apply(MANAGER).force();
        let now = self
            .nodes
            .patch(&self.node, &ours, &Patch::Apply(node))
            .await?;
        let strays = now.labels().keys().filter(|key| label::is_ours(key));
        let strays: Map<String, Value> = strays
            .filter(|key| !labels.contains_key(*key))
            .map(|key| (key.clone(), Value::Null))
            .collect();
        if strays.is_empty() {
            return Ok(());
        }
        let patch = json!({"metadata": {"labels": strays}});
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.nodes
            .patch(&self.node, &params, &Patch::Merge(patch))
            .await
            .map(drop)
    }

    /// Writes the status of `NodeImages`. The node owns the object, so that it is deleted with its
    /// node.
    pub(crate) async fn write_status(
        &mut self,
        node_uid: &str,
        status: &NodeImagesStatus,
    ) -> Result<(), kube::Error> {
        if self.owner.as_deref() != Some(node_uid) {
            self.make(node_uid).await?;
        }
        match self.write(status).await {
            // The object was deleted.
            Err(kube::Error::Api(refused)) if refused.code == 404 => {
                self.make(node_uid).await?;
                self.write(status).await
            }
            other => other,
        }
    }

    async fn make(&mut self, node_uid: &str) -> Result<(), kube::Error> {
        let mut object = self.object();
        object["spec"] = json!({});
        object["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": node_uid}]);
        let ours = PatchParams::apply(MANAGER).force();
        self.own
            .patch(&self.node, &ours, &Patch::Apply(object))
            .await?;
        self.owner = Some(node_uid.to_owned());
        Ok(())
    }

    async fn write(&self, status: &NodeImagesStatus) -> Result<(), kube::Error> {
        let mut object = self.object();
        object["status"] = serde_json::to_value(status).map_err(kube::Error::SerdeError)?;
        let ours = PatchParams::apply(MANAGER).force();
        let status = Patch::Apply(object);
        self.own
            .patch_status(&self.node, &ours, &status)
            .await
            .map(drop)
    }

    pub(crate) async fn forget(&self) -> Result<(), kube::Error> {
        match self.own.delete(&self.node, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(refused)) if refused.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn object(&self) -> Value {
        json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages",
            "metadata": {"name": self.node},
        })
    }
}
