//! `NodeImages`: the images of one node, written by its agent alone. `kubectl explain` prints the
//! doc comments of this file.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a node's images. The object has the name of its node, and the node's agent writes it.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "images.airside.dev",
    version = "v1alpha1",
    kind = "NodeImages",
    plural = "nodeimages",
    singular = "nodeimages",
    category = "airside",
    status = "NodeImagesStatus",
    derive = "PartialEq",
    doc = "State of a node's images. The object has the name of its node, and the node's agent writes it.",
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".status.wanted"),
    printcolumn(name = "Present", type_ = "integer", json_path = ".status.present"),
    printcolumn(name = "Errors", type_ = "integer", json_path = ".status.errors"),
    printcolumn(name = "Disk", type_ = "string", json_path = ".status.disk.used"),
    printcolumn(name = "Seen", type_ = "date", json_path = ".status.heartbeat")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeImagesSpec {}

/// Observed state of one node's images.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeImagesStatus {
    /// Time of the agent's last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Time>,
    /// Boot id of the node at the report. After a reboot the agent observes everything anew.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// Number of images that belong on the node.
    #[serde(default)]
    pub wanted: u32,
    /// Number of these images that are present.
    #[serde(default)]
    pub present: u32,
    /// Number of these images in state error.
    #[serde(default)]
    pub errors: u32,
    /// File system of the images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Images that belong on the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<NodeImage>,
    /// RuntimeReachable: the container runtime answers. OperatorReachable: the operator answers.
    /// PinVisible: the kubelet sees the agent's pins. MirrorUsed: containerd asks the node's own
    /// mirror.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// File system of a node's images.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Used share, such as 61%.
    pub used: String,
    /// Size of the file system, in bytes.
    pub capacity_bytes: u64,
    /// Size of the images that the agent pulled, in bytes.
    pub ours_bytes: u64,
    /// Reason why no image is added at present; empty if images are added.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub full: String,
}

/// One image that belongs on the node.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeImage {
    /// Full name of the image, with host and tag.
    pub image: String,
    /// Digest that belongs on the node.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// pending: waits for its pull. pulling: is being pulled. present: is on the node. error: pulls
    /// failed too often in a row.
    pub state: NodeImageState,
    /// Time at which the state or the pull began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Size of the compressed layers, in bytes.
    #[serde(default)]
    pub size_bytes: u64,
    /// True if the kubelet's garbage collection must not remove the image.
    #[serde(default)]
    pub pinned: bool,
    /// Number of failed pulls in a row.
    #[serde(default)]
    pub attempts: u32,
    /// Time of the next pull after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Time>,
    /// True if the image was removed to make room. It comes back only once there is plenty of room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collected: bool,
    /// Message of the last failure, from the container runtime.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// State of one image on one node.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeImageState {
    #[default]
    Pending,
    Pulling,
    Present,
    Error,
}
