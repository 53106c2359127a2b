//! `Pipeline`: a pipeline that an object sets. `kubectl explain` prints the doc comments of this
//! file.
#![expect(
    clippy::duplicated_attributes,
    reason = "columns that are printed may be of one type"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::facts::FactsSchema;

/// A pipeline of the team that this namespace belongs to.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "ci.airside.dev",
    version = "v1alpha1",
    kind = "Pipeline",
    root = "ClusterPipeline",
    plural = "pipelines",
    shortname = "pipe",
    category = "airside",
    namespaced,
    status = "ClusterPipelineStatus",
    derive = "PartialEq",
    doc = "A pipeline of the team that this namespace belongs to.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Set-By", type_ = "string", json_path = ".status.setBy"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".status.paused"),
    printcolumn(name = "Jobs", type_ = "integer", json_path = ".status.jobs"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
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
    validation = Rule::new("!(has(self.config) && has(self.text))").message("give config or text, not both"),
    validation = Rule::new("!(has(oldSelf.config) || has(oldSelf.text)) || has(self.config) || has(self.text)")
        .message("an object that sets a pipeline keeps config or text; delete the object instead"),
    validation = Rule::new(
        "has(self.pipeline) == has(oldSelf.pipeline) && (!has(self.pipeline) || self.pipeline == oldSelf.pipeline)"
    )
    .message("pipeline never changes; make another object"),
    validation = Rule::new(
        "has(self.instanceVars) == has(oldSelf.instanceVars) && \
         (!has(self.instanceVars) || self.instanceVars == oldSelf.instanceVars)"
    )
    .message("instanceVars never change; make another object")
)]
pub struct ClusterPipelineSpec {
    /// Name of the pipeline; the object's name by default. It never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub pipeline: Option<String>,
    /// Instance vars, which tell pipelines of one name apart. They never change.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::opaque_map")]
    pub instance_vars: Map<String, Value>,
    /// Configuration as in a pipeline's file. It has one owner and is never merged. Give config or
    /// text; without either the object shows a pipeline that fly sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::opaque_map")]
    pub config: Option<Map<String, Value>>,
    /// Configuration as text, which keeps comments and nulls exactly as fly would send them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_048_576))]
    pub text: Option<String>,
    /// Variables that are put in, as fly does with -v. Other ((variables)) stay for the credential
    /// manager.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::opaque_map")]
    pub vars: Map<String, Value>,
    /// True pauses the pipeline and false unpauses it, when the value changes. Absent leaves it
    /// alone: new pipelines are paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// True shows the pipeline to every visitor and false hides it, when the value changes. Absent
    /// leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed: Option<bool>,
    /// Treatment of the pipeline once the object is gone. Archive: builds stay, and applying the
    /// object again brings the pipeline back. Destroy: pipeline and builds are removed. Keep: the
    /// pipeline goes on, set by fly.
    #[serde(default)]
    pub deletion_policy: ObjectDeletionPolicy,
    /// Facts about the configuration, for policies of the cluster: Airside writes them in dry runs
    /// and never reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<FactsSchema>,
}

/// Treatment of a pipeline once its object is gone.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum ObjectDeletionPolicy {
    #[default]
    Archive,
    Destroy,
    Keep,
}

/// Observed state of the pipeline.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPipelineStatus {
    /// Generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Object: this object sets the pipeline. Server: fly and set_pipeline steps do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<SetBy>,
    /// Version of the pipeline's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_version: Option<i64>,
    /// True if the pipeline is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Number of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<i64>,
    /// Page of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Ready: the configuration is set. Reconciling: something is still to do. Stalled: only the
    /// object's author can mend it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The side that decides the configuration of a pipeline.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum SetBy {
    Object,
    Server,
}

impl ClusterPipeline {
    /// Returns the name of the pipeline that the object is about.
    pub fn pipeline_name(&self) -> &str {
        let own = self.metadata.name.as_deref().unwrap_or_default();
        self.spec.pipeline.as_deref().unwrap_or(own)
    }

    /// Returns true if the object carries a configuration, so that it sets the pipeline.
    pub fn sets_pipeline(&self) -> bool {
        self.spec.config.is_some() || self.spec.text.is_some()
    }
}
