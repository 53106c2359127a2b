//! The vocabulary of Airside: names, plans, events and states, as plain data.
//!
//! Everything else depends on this crate and it depends on nothing of ours. It does no I/O, reads
//! no clock and knows no database; the JSON it reads and writes is the JSON that `fly` and shims
//! see.

mod bytes;
mod config_rows;
pub mod duration;
mod error_chain;
pub mod event;
pub mod facts;
pub mod ids;
mod json_text;
mod null;
pub mod plan;
pub mod public_plan;
pub mod quota;
pub mod resource_type;
pub mod status;
pub mod step;
pub mod task;
pub mod version;

pub use bytes::Bytes;
pub use config_rows::{SaveJob, SaveResource};
pub use duration::{
    BadDuration, deadline_after, go_duration, parse_duration, read_duration, scale_duration,
};
pub use error_chain::chain;
pub use ids::*;
pub use plan::{Plan, PlanNode};
pub use quota::{Quota, QuotaExceeded, Quotas, TeamQuota};
pub use resource_type::ResourceType;
pub use status::{BuildStatus, ContainerState, StepKind, WorkerState};
pub use step::StepLabels;
pub use task::TaskConfig;
pub use version::{MetadataField, Version, bounded_metadata, bounded_versions};
