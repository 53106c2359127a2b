//! `ImageSet`: images that belong on nodes. `kubectl explain` prints the doc comments of this file.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::Toleration,
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelectorRequirement, Time},
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Images that are kept on nodes: pulled before a pod needs them, kept current, and reported.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "images.airside.dev",
    version = "v1alpha1",
    kind = "ImageSet",
    plural = "imagesets",
    shortname = "ims",
    category = "airside",
    namespaced,
    status = "ImageSetStatus",
    derive = "PartialEq",
    doc = "Images that are kept on nodes: pulled before a pod needs them, kept current, and reported.",
    printcolumn(
        name = "Images",
        type_ = "integer",
        json_path = ".status.counts.images"
    ),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.counts.nodes"),
    printcolumn(
        name = "Present",
        type_ = "string",
        json_path = ".status.counts.present"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = "1"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ImageSetSpec {
    /// Images to keep on nodes.
    #[schemars(length(min = 1, max = 256))]
    pub images: Vec<WantedImage>,
    /// Nodes that keep the images; every node by default.
    #[serde(default)]
    pub nodes: NodeChoice,
    /// Platforms of nodes, such as linux/arm64; nodes of every platform by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(regex(pattern = r"^[a-z0-9]+/[a-z0-9]+(/[a-z0-9]+)?$"))
    )]
    pub platforms: Vec<String>,
    /// Names of Secrets of type kubernetes.io/dockerconfigjson in this namespace, tried in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub pull_secrets: Vec<String>,
    /// Interval at which registries are asked whether a tag has moved, such as 5m or 1h30m; `never`
    /// asks once.
    #[serde(default = "default_check_every")]
    #[schemars(regex(pattern = r"^(never|([0-9]+(s|m|h))+)$"))]
    pub check_every: String,
    /// Number of failed pulls in a row after which an image is in state error on a node. It is then
    /// retried only now and then.
    #[serde(default = "default_failures")]
    #[schemars(range(min = 1, max = 100))]
    pub failures_before_error: u32,
    /// Treatment of pods that use these images.
    #[serde(default)]
    pub placement: Placement,
    /// True if the kubelet's own garbage collection must not remove these images.
    #[serde(default = "yes")]
    pub pinned: bool,
    /// Order among sets where a node has more to pull than it may pull at once; higher goes first.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,
}

/// An image by its name, or the newest tags of a repository that match.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.image) != has(self.repository)").message("give either image or repository"),
    validation = Rule::new("has(self.repository) == (has(self.semver) || has(self.pattern))")
        .message("a repository needs semver or pattern, which say what tags are wanted; an image has neither"),
    validation = Rule::new("!(has(self.semver) && has(self.pattern))").message("give semver or pattern, not both")
)]
pub struct WantedImage {
    /// Name of an image as pods write it: with a tag, which is followed, or with a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// Name of a repository, without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub repository: Option<String>,
    /// Range of versions whose newest tags are kept, such as ^1.4 or >=2, <3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub semver: Option<String>,
    /// Pattern of tags to keep, in which * matches any text. The last tags are kept, in the order
    /// of versions and then of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub pattern: Option<String>,
    /// Number of matching tags to keep.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 32))]
    pub keep: u32,
}

/// Nodes by their labels, and the taints that do not exclude a node.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeChoice {
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements on a node's labels: In, NotIn, Exists, DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Tolerated taints. A node with another taint of effect NoSchedule or NoExecute is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// Treatment of pods that use images of a set.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// prefer: pods go to nodes that have the image, if they can. require: pods go to no other
    /// node. gate: pods wait until enough nodes have the image, and then prefer these. none: pods
    /// are left alone.
    #[serde(default)]
    pub mode: PlacementMode,
    /// True if pods get the digest that the tag has when they are created, so that all of them run
    /// the same bytes.
    #[serde(default)]
    pub pin_digest: bool,
    /// Number of nodes that must have the image, with mode gate.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5000))]
    pub gate_nodes: u32,
    /// Longest wait of a pod with mode gate, in seconds.
    #[serde(default = "default_gate_seconds")]
    #[schemars(range(min = 1, max = 86400))]
    pub gate_seconds: u32,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            mode: PlacementMode::default(),
            pin_digest: false,
            gate_nodes: one(),
            gate_seconds: default_gate_seconds(),
        }
    }
}

#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementMode {
    #[default]
    Prefer,
    Require,
    Gate,
    None,
}

/// Observed state of the set, from registries and node agents.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageSetStatus {
    /// Generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Resolved: every name has a digest in its registry. Ready: every image is on every node of
    /// the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Every tag or digest that the set selects at present.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ResolvedImage>,
    /// Label of the nodes that have an image, by the full name of the image with its tag or digest.
    /// The label's value on a node is `present`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Numbers of images and nodes.
    #[serde(default)]
    pub counts: Counts,
    /// While the set is being deleted: images that nodes still have, each as image and node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

/// Numbers of images and nodes of a set.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Number of images.
    pub images: u32,
    /// Number of nodes that the set selects.
    pub nodes: u32,
    /// Images that are present, of images times nodes, such as 5/6.
    #[serde(default)]
    pub present: String,
}

/// One tag or digest, as its registry resolves it.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedImage {
    /// Full name of the image, with host and tag.
    pub image: String,
    /// Digest of the name at present: of an index, or of the only manifest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Content for each platform of the set's nodes, such as linux/amd64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub platforms: BTreeMap<String, PlatformImage>,
    /// pending: not asked yet. found: the registry has it. missing: the registry does not have it.
    /// error: the registry cannot be asked; the last known digest still counts.
    pub state: TagState,
    /// Time of the last request to the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Time>,
    /// Time of the next request to the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_check: Option<Time>,
    /// Time at which the tag last moved to another digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Time>,
    /// Number of failed requests to the registry in a row.
    #[serde(default)]
    pub failures: u32,
    /// Reason of the last failure; empty after a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The image of one platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformImage {
    /// Digest of the platform's manifest. An index may change while this stays: then nodes pull
    /// nothing.
    pub digest: String,
    /// Digest of the configuration, which is the image's id in container runtimes.
    pub id: String,
    /// Size of the compressed layers, in bytes.
    pub size_bytes: u64,
}

#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TagState {
    /// The registry was not asked yet.
    #[default]
    Pending,
    /// The registry has it.
    Found,
    /// The registry does not have it.
    Missing,
    /// The registry cannot be asked; the last known digest still counts.
    Error,
}

fn default_check_every() -> String {
    "5m".to_owned()
}

fn default_failures() -> u32 {
    5
}

fn default_gate_seconds() -> u32 {
    300
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
