//! `NodeImages`: what one node has of the images it should have, written by its agent alone.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a node has of the images that it should have. It is called like its node, whose agent writes it.
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
    doc = "What a node has of the images that it should have. It is called like its node, whose agent writes it.",
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".status.wanted"),
    printcolumn(name = "Present", type_ = "integer", json_path = ".status.present"),
    printcolumn(name = "Errors", type_ = "integer", json_path = ".status.errors"),
    printcolumn(name = "Disk", type_ = "string", json_path = ".status.disk.used"),
    printcolumn(name = "Seen", type_ = "date", json_path = ".status.heartbeat")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeImagesSpec {}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeImagesStatus {
    /// When the agent last said that all this is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Time>,
    /// The start of the node that this is about; after another one everything is looked at anew.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    #[serde(default)]
    pub wanted: u32,
    #[serde(default)]
    pub present: u32,
    #[serde(default)]
    pub errors: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<NodeImage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// The file system that images are on.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Such as 61%.
    pub used: String,
    pub capacity_bytes: u64,
    /// What the images that we pulled take of it.
    pub ours_bytes: u64,
    /// Why nothing is added at present; empty if it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub full: String,
}

/// One image that belongs on the node.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeImage {
    /// The whole name, with host and tag.
    pub image: String,
    /// The content that belongs there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    pub state: NodeImageState,
    /// Since when it is being pulled, or is in the state it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    #[serde(default)]
    pub size_bytes: u64,
    #[serde(default)]
    pub pinned: bool,
    /// Failed pulls in a row.
    #[serde(default)]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<Time>,
    /// It was taken away to make room, and comes back only where there is a lot of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collected: bool,
    /// What went wrong, in the runtime's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeImageState {
    #[default]
    Pending,
    Pulling,
    Present,
    Error,
}
