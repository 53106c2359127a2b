//! Schema of the facts about a configuration, as policies of the cluster read them. The values are
//! those of `airside_model::PipelineFacts`; a test compares the fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about a configuration that is about to be set, for policies of the cluster. Airside writes
/// them in dry runs and never reads them.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactsSchema {
    /// Way in which the pipeline is set: fly, step or object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// User, build or object that sets the pipeline, such as oidc:ann.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Steps of all jobs, however deep they are nested.
    #[serde(default)]
    pub steps: Vec<StepFactsSchema>,
    /// Resources of the pipeline.
    #[serde(default)]
    pub resources: Vec<ResourceFactsSchema>,
    /// Resource types and prototypes that the pipeline declares.
    #[serde(default)]
    pub types: Vec<TypeFactsSchema>,
    /// Names of the pipelines that set_pipeline steps set.
    #[serde(default)]
    pub pipelines: Vec<String>,
}

/// One step of a job. Fields that a step does not have are absent.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepFactsSchema {
    /// Name of the job.
    pub job: String,
    /// Kind of the step: get, put, task, run, set_pipeline or load_var.
    pub kind: String,
    /// Name of the step.
    pub name: String,
    /// Resource of a get or put.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// Type of the resource of a get or put, or prototype of a run.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// True if the step asks to be privileged. Present for tasks and runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// File that a task, set_pipeline or load_var reads. Its content is not known yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Artifact that is the image of a task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Type of the image_resource of a task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image_type: String,
    /// The rootfs_uri of a task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rootfs_uri: String,
    /// Address of the image_resource of a task.
    #[serde(flatten)]
    pub address: AddressFactsSchema,
    /// Team of the pipeline that a set_pipeline sets, if it is another team.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Tags of the workers that run the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// One resource of the pipeline.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFactsSchema {
    /// Name of the resource.
    pub name: String,
    /// Type of the resource.
    #[serde(rename = "type")]
    pub type_: String,
    /// Address of the source.
    #[serde(flatten)]
    pub address: AddressFactsSchema,
    /// Tags of the workers that check the resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// One resource type or prototype that the pipeline declares.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeFactsSchema {
    /// Name of the type.
    pub name: String,
    /// Type of the resource that is the type's image.
    #[serde(rename = "type")]
    pub type_: String,
    /// Address of the type's image.
    #[serde(flatten)]
    pub address: AddressFactsSchema,
    /// True if containers of the type are privileged.
    #[serde(default)]
    pub privileged: bool,
    /// True if it is a prototype, which only run steps use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prototype: bool,
    /// Tags of the workers that run the type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Values of a source that say where something is, without user, password and query.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddressFactsSchema {
    /// The uri of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// The url of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The repository of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The owner of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The bucket of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bucket: String,
    /// The endpoint of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// The server of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// The namespace of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
