//! `PipelineBuild`: a build of a job, shown by Airside or created by people to trigger the job.
//! `kubectl explain` prints the doc comments of this file.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A build of a job. Creating the object triggers the job once.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "ci.airside.dev",
    version = "v1alpha1",
    kind = "PipelineBuild",
    root = "ClusterBuild",
    plural = "pipelinebuilds",
    shortname = "pbuild",
    category = "airside",
    namespaced,
    status = "ClusterBuildStatus",
    derive = "PartialEq",
    doc = "A build of a job. Creating the object triggers the job once.",
    printcolumn(name = "Pipeline", type_ = "string", json_path = ".spec.pipeline"),
    printcolumn(name = "Job", type_ = "string", json_path = ".spec.job"),
    printcolumn(name = "Build", type_ = "string", json_path = ".status.name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Created-By",
        type_ = "string",
        json_path = ".status.createdBy",
        priority = "1"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Succeeded\")].message",
        priority = "1"
    ),
    printcolumn(
        name = "URL",
        type_ = "string",
        json_path = ".status.url",
        priority = "1"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "self.pipeline == oldSelf.pipeline && self.job == oldSelf.job && \
         has(self.build) == has(oldSelf.build) && (!has(self.build) || self.build == oldSelf.build) && \
         has(self.rerunOf) == has(oldSelf.rerunOf) && (!has(self.rerunOf) || self.rerunOf == oldSelf.rerunOf)"
    )
    .message("only abort may change; create another object"),
    validation = Rule::new(
        "has(self.instanceVars) == has(oldSelf.instanceVars) && \
         (!has(self.instanceVars) || self.instanceVars == oldSelf.instanceVars)"
    )
    .message("only abort may change; create another object"),
    validation = Rule::new("!oldSelf.abort || self.abort").message("an abort cannot be taken back")
)]
pub struct ClusterBuildSpec {
    /// Name of the pipeline.
    #[schemars(length(min = 1, max = 1024))]
    pub pipeline: String,
    /// Instance vars of the pipeline.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::opaque_map")]
    pub instance_vars: Map<String, Value>,
    /// Name of the job.
    #[schemars(length(min = 1, max = 1024))]
    pub job: String,
    /// Name of the build that Airside shows by this object. Leave it out to trigger a build: an
    /// object with a name that Airside did not give is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub build: Option<String>,
    /// Name of a build of the job to repeat with the same inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub rerun_of: Option<String>,
    /// True aborts the build. It is the one field that may change.
    #[serde(default)]
    pub abort: bool,
}

/// Phase of a build, in the words of fly.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterBuildPhase {
    Pending,
    Started,
    Succeeded,
    Failed,
    Errored,
    Aborted,
}

impl ClusterBuildPhase {
    /// Returns true if a build in this phase goes on.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Pending | Self::Started)
    }

    /// Returns the phase in the words of fly.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Aborted => "aborted",
        }
    }
}

/// Observed state of the build.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBuildStatus {
    /// Number of the build in the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Name of the build: its number in the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Phase of the build, in the words of fly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterBuildPhase>,
    /// User who triggered the build; absent if a version did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Time at which the build started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Time at which the build ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Page of the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Complete: the build ended, whatever it came to. Succeeded: it ended well; Unknown until it
    /// ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
