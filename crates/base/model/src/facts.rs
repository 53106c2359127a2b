//! Facts of a pipeline: the part of a configuration that policies judge, as one flat list of steps.
//!
//! Policies of a cluster are written in CEL, which cannot recurse, so that steps stand here without
//! the nesting of `in_parallel`, `try`, `do`, `across` and hooks. Facts hold no sources and no
//! params; addresses in them have no user, password or query. `airside_config::facts` fills them.

use serde::{Deserialize, Serialize};

/// The way by which a pipeline is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetThrough {
    /// A request to the API, such as that of `fly set-pipeline`.
    Fly,
    /// A `set_pipeline` step of a build.
    Step,
    /// A `Pipeline` object of a cluster.
    Object,
}

/// Everything about a pipeline that a policy can judge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineFacts {
    /// The way by which the pipeline is set; `None` if it is only looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<SetThrough>,
    /// The user, build or object that sets the pipeline.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Every step that runs something, job by job, however deep it stands.
    #[serde(default)]
    pub steps: Vec<StepFacts>,
    #[serde(default)]
    pub resources: Vec<ResourceFacts>,
    /// Resource types and prototypes that the pipeline brings with it.
    #[serde(default)]
    pub types: Vec<TypeFacts>,
    /// Names of the pipelines that `set_pipeline` steps set, each once.
    #[serde(default)]
    pub pipelines: Vec<String>,
}

/// The kind of a step, under the key that a pipeline has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFactsKind {
    Get,
    Put,
    Task,
    Run,
    SetPipeline,
    LoadVar,
}

/// A step of a job. Fields that its kind does not have are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFacts {
    pub job: String,
    pub kind: StepFactsKind,
    /// The text behind the key of the step's kind: `test` of `task: test`.
    pub name: String,
    /// The resource of a get or put.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// The type of the resource of a get or put, or the prototype of a run.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// Present for tasks and runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// The file that a task, `set_pipeline` or `load_var` reads. Its content is not known before
    /// the step runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The artifact that is a task's image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The type of the `image_resource` in a task's own config.
    #[serde(
        default,
        rename = "imageType",
        skip_serializing_if = "String::is_empty"
    )]
    pub image_type: String,
    /// The `rootfs_uri` in a task's own config.
    #[serde(
        default,
        rename = "rootfsUri",
        skip_serializing_if = "String::is_empty"
    )]
    pub rootfs_uri: String,
    /// The address of the `image_resource` in a task's own config.
    #[serde(flatten)]
    pub address: AddressFacts,
    /// The team of the pipeline that a `set_pipeline` sets, if it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Tags of the workers that run the step; those of its job, if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl StepFacts {
    /// Returns a step with the fields that each kind has.
    pub fn new(job: &str, kind: StepFactsKind, name: &str) -> Self {
        Self {
            job: job.to_owned(),
            kind,
            name: name.to_owned(),
            resource: String::new(),
            type_: String::new(),
            privileged: None,
            file: String::new(),
            image: String::new(),
            image_type: String::new(),
            rootfs_uri: String::new(),
            address: AddressFacts::default(),
            team: String::new(),
            tags: Vec::new(),
        }
    }
}

/// A resource of the pipeline, with the values that the defaults of its type give it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceFacts {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(flatten)]
    pub address: AddressFacts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A resource type or prototype of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeFacts {
    pub name: String,
    /// The type of the resource that is the image.
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(flatten)]
    pub address: AddressFacts,
    pub privileged: bool,
    /// True for a prototype, which only `run` steps use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prototype: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The values of a source that say where something is, each under its key, cleaned of users,
/// passwords and queries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressFacts {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uri: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bucket: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
