//! Pipelines and tasks: what they may say, whether it makes sense, and the plan a job becomes.
//!
//! ```text
//! text ─ airside_yaml ─▶ Node ─ read ─▶ Config ─ validate ─▶ Loaded
//!                                          │
//!                              job ─ plan ─┴─▶ Plan      inputs, outputs
//! ```
//!
//! - one file per section of a pipeline (`resource`, `job`, `group`) and per kind of step
//!   (`steps/*`): a step's file has its fields, how they are read, its rules, and the plan it
//!   becomes;
//! - `reader` turns spanned nodes into fields and collects what is wrong instead of stopping;
//! - `validate` has the rules that span several parts of a pipeline;
//! - `problem` and `render` show problems, to `fly` in Concourse's words and to people with the
//!   line.
//!
//! The JSON of [`Config`] is what is stored and what `fly` gets back; it has Concourse's field
//! names. `((variables))` may stay in it; the engine fills them in when it runs a step.
//!
//! **Invariant:** no I/O, no clock, no database in here.

mod base_type;
mod config;
mod diff;
mod facts;
mod glob;
mod group;
mod identifier;
mod inputs;
mod job;
mod load;
mod old_variables;
mod outline;
mod passed_pattern;
mod plan;
mod problem;
mod reader;
mod render;
mod resource;
mod resource_type;
mod schema;
mod shape;
mod steps;
mod suggest;
mod task_config;
mod task_shape;
mod validate;
mod var_source;
mod yaml_text;

pub use airside_model::ResourceType;
pub use airside_model::parse_duration;
pub use base_type::{missing_base_type, pulled_source, registry_type, resource_types_line};
pub use config::{Config, Display};
pub use diff::diff;
pub use facts::{FactsTooLarge, MAX_FACTS_BYTES, facts};
pub use glob::Glob;
pub use group::Group;
pub use identifier::{EmptyIdentifier, Warning, validate_identifier};
pub use inputs::{JobInput, JobOutput, inputs, outputs};
pub use job::{BuildLogRetention, Job};
pub use load::{
    Loaded, LoadedTask, RefusedPipeline, load, load_filled_task, load_node, load_node_with_advice,
    load_task, load_task_node, parse,
};
pub use outline::{InputOutline, JobOutline, OutputOutline, ResourceOutline};
pub use passed_pattern::PassedPattern;
pub use plan::{
    CheckOptions, MAX_NODES, PlanError, PlanOptions, check_plan, image_plans, plan, plan_with,
    prototype_check_plan, resource_type_check_plan,
};
pub use problem::{Fix, FixAction, Problem, Section, api_errors};
pub use reader::env_text;
pub use render::{render_all, render_warnings};
pub use resource::{CheckEvery, Resource};
pub use schema::{pipeline_schema, task_schema};
pub use steps::across::AcrossVar;
pub use steps::do_step::DoStep;
pub use steps::get::{GetStep, VersionSpec};
pub use steps::in_parallel::{InParallel, InParallelStep};
pub use steps::load_var::LoadVarStep;
pub use steps::modifiers::Modifiers;
pub use steps::put::PutStep;
pub use steps::run::RunStep;
pub use steps::set_pipeline::SetPipelineStep;
pub use steps::task::TaskStep;
pub use steps::try_step::TryStep;
pub use steps::{Core, Leaf, Step};
pub use suggest::nearest;
pub use var_source::{VarSource, order_var_sources};
