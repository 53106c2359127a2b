//! `PipelineJob`: a job of a pipeline, made and removed by Airside. `kubectl explain` prints the
//! doc comments of this file.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::build::ClusterBuildPhase;

/// A job of a pipeline. Airside makes and removes the object.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "ci.airside.dev",
    version = "v1alpha1",
    kind = "PipelineJob",
    root = "ClusterJob",
    plural = "pipelinejobs",
    shortname = "pjob",
    category = "airside",
    namespaced,
    status = "ClusterJobStatus",
    derive = "PartialEq",
    doc = "A job of a pipeline. Airside makes and removes the object.",
    printcolumn(name = "Pipeline", type_ = "string", json_path = ".spec.pipeline"),
    printcolumn(name = "Job", type_ = "string", json_path = ".spec.job"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".status.paused"),
    printcolumn(name = "Running", type_ = "string", json_path = ".status.running.name"),
    printcolumn(name = "Last", type_ = "string", json_path = ".status.last.name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.last.phase"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.pipeline == oldSelf.pipeline && self.job == oldSelf.job")
        .message("pipeline and job never change"),
    validation = Rule::new(
        "has(self.instanceVars) == has(oldSelf.instanceVars) && \
         (!has(self.instanceVars) || self.instanceVars == oldSelf.instanceVars)"
    )
    .message("instanceVars never change")
)]
pub struct ClusterJobSpec {
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
    /// True pauses the job and false unpauses it, when the value changes. Absent leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// Observed state of the job.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterJobStatus {
    /// True if the job is paused.
    #[serde(default)]
    pub paused: bool,
    /// Value of spec.paused that was applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_paused: Option<bool>,
    /// The oldest build that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<JobBuildSummary>,
    /// The newest build that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<JobBuildSummary>,
    /// Resources that the job gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<JobInput>,
    /// Succeeded: the newest build that has ended succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A build in the status of its job.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBuildSummary {
    /// Name of the build: its number in the job.
    pub name: String,
    /// Phase of the build.
    pub phase: ClusterBuildPhase,
    /// Time at which the build started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Time at which the build ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

/// A resource that a job gets.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobInput {
    /// Name of the resource.
    pub resource: String,
    /// True if new versions trigger the job.
    #[serde(default)]
    pub trigger: bool,
    /// Jobs that a version must have passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
}
