//! Pipelines, jobs and builds as objects of a cluster: the kinds, and the rules of all that read or
//! write them.
//!
//! A [`ClusterPipeline`] declares a pipeline, a [`ClusterJob`] shows a job, and a [`ClusterBuild`]
//! shows a build or triggers one. The functions are pure: names ([`names`]), conditions
//! ([`conditions`]), what is worth writing ([`differs`]), and the schemas ([`definitions()`]).

#[expect(
    unreachable_pub,
    reason = "the derive for rules makes a copy of each struct within a function"
)]
mod build;
pub mod conditions;
mod definitions;
mod facts;
#[expect(
    unreachable_pub,
    reason = "the derive for rules makes a copy of each struct within a function"
)]
mod job;
pub mod names;
#[expect(
    unreachable_pub,
    reason = "the derive for rules makes a copy of each struct within a function"
)]
mod pipeline;
mod schema;
mod writes;

pub use build::{ClusterBuild, ClusterBuildPhase, ClusterBuildSpec, ClusterBuildStatus};
pub use definitions::definitions;
pub use facts::{
    AddressFactsSchema, FactsSchema, ResourceFactsSchema, StepFactsSchema, TypeFactsSchema,
};
pub use job::{ClusterJob, ClusterJobSpec, ClusterJobStatus, JobBuildSummary, JobInput};
pub use pipeline::{
    ClusterPipeline, ClusterPipelineSpec, ClusterPipelineStatus, ObjectDeletionPolicy, SetBy,
};
pub use writes::differs;

/// API group of the kinds.
pub const GROUP: &str = "ci.airside.dev";

/// Version of the kinds.
pub const VERSION: &str = "v1alpha1";

/// Annotation with the user who created a [`ClusterBuild`], written by the API server's own policy.
pub const CREATOR_ANNOTATION: &str = "ci.airside.dev/creator";

/// Annotation with the build whose `set_pipeline` step applied a [`ClusterPipeline`].
pub const PARENT_BUILD_ANNOTATION: &str = "ci.airside.dev/parent-build";

/// Largest configuration that an object may hold, as JSON or as text.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
