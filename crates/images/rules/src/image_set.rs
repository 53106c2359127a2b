//! `ImageSet`: images that belong on nodes. Its words are what `kubectl explain` prints.
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

/// Images that are kept on nodes: pulled before anybody needs them, kept current, and told about.
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
    doc = "Images that are kept on nodes: pulled before anybody needs them, kept current, and told about.",
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
    /// What to keep on nodes.
    #[schemars(length(min = 1, max = 256))]
    pub images: Vec<WantedImage>,
    /// Which nodes; all of them if nothing is said.
    #[serde(default)]
    pub nodes: NodeChoice,
    /// Only nodes of these platforms, such as linux/arm64; those of every node if nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        inner(regex(pattern = r"^[a-z0-9]+/[a-z0-9]+(/[a-z0-9]+)?$"))
    )]
    pub platforms: Vec<String>,
    /// Secrets of type kubernetes.io/dockerconfigjson in this namespace, tried in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub pull_secrets: Vec<String>,
    /// How often registries are asked whether a tag has moved, such as 5m or 1h30m; `never` asks once.
    #[serde(default = "default_check_every")]
    #[schemars(regex(pattern = r"^(never|([0-9]+(s|m|h))+)$"))]
    pub check_every: String,
    /// After how many failed pulls in a row an image is in state error on a node, and only tried again now and then.
    #[serde(default = "default_failures")]
    #[schemars(range(min = 1, max = 100))]
    pub failures_before_error: u32,
    /// What happens to pods that use these images.
    #[serde(default)]
    pub placement: Placement,
    /// Whether the kubelet's own garbage collection must leave these images alone.
    #[serde(default = "yes")]
    pub pinned: bool,
    /// Which set goes first where nodes have more to pull than they may at once; the higher the sooner.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,
}

/// An image by its name, or the newest ones of a repository that fit.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.image) != has(self.repository)").message("give either image or repository"),
    validation = Rule::new("has(self.repository) == (has(self.semver) || has(self.pattern))")
        .message("a repository needs semver or pattern, which say what tags are wanted; an image has neither"),
    validation = Rule::new("!(has(self.semver) && has(self.pattern))").message("give semver or pattern, not both")
)]
pub struct WantedImage {
    /// A name as pods have it: with a tag that is followed, or with a digest that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// A name without a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub repository: Option<String>,
    /// The newest versions that fit, such as ^1.4 or >=2, <3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub semver: Option<String>,
    /// The tags that match, where * stands for anything; the last ones by their order as versions, then as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub pattern: Option<String>,
    /// How many of the tags that fit.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 32))]
    pub keep: u32,
}

/// Nodes by their labels, and taints that do not matter.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeChoice {
    /// Labels that a node has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// More that is true of its labels: In, NotIn, Exists, DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// A node with a taint of effect NoSchedule or NoExecute is left out unless one of these tolerates it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// What happens to pods that use images of a set.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// prefer: nodes that have the image are taken first. require: only those are taken. gate: the pod waits until
    /// enough nodes have it, then prefers them. none: pods are left alone.
    #[serde(default)]
    pub mode: PlacementMode,
    /// Pods get the digest that the tag had when they were made, so that all run the same bytes.
    #[serde(default)]
    pub pin_digest: bool,
    /// With mode gate: on how many nodes the image must be.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5000))]
    pub gate_nodes: u32,
    /// With mode gate: how long a pod waits at most, in seconds.
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

/// What registries and nodes say.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageSetStatus {
    /// The generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready: every image is on every node. MirrorUsed, PinVisible: what was tried by the set's own tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Every tag or digest that the set means at present.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ResolvedImage>,
    /// The label of nodes that have an image, with the value `present`, by the names of that image: whole, with tag or digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub counts: Counts,
    /// While the set is being deleted: what nodes still have of it, as image and node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

/// The set in numbers.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub images: u32,
    pub nodes: u32,
    /// How many of images times nodes are there, such as 5/6.
    #[serde(default)]
    pub present: String,
}

/// One tag or digest, as its registry has it.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedImage {
    /// The whole name, with host and tag.
    pub image: String,
    /// What the name means at present: the digest of an index or of the only manifest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The content for each platform that is wanted, such as linux/amd64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub platforms: BTreeMap<String, PlatformImage>,
    pub state: TagState,
    /// When the registry was last asked, and when it will be next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_check: Option<Time>,
    /// When the tag last got another content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Time>,
    /// How many times in a row the registry could not be asked.
    #[serde(default)]
    pub failures: u32,
    /// What the registry said, if it was no answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The image of one platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformImage {
    /// Of its manifest. An index may change while this stays: then nothing has to be pulled.
    pub digest: String,
    /// What runtimes call the content: the digest of its configuration.
    pub id: String,
    /// What its layers take on the wire.
    pub size_bytes: u64,
}

#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TagState {
    /// Not asked yet.
    #[default]
    Pending,
    /// The registry has it.
    Found,
    /// The registry does not have it.
    Missing,
    /// The registry cannot be asked; what was known before still counts.
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
