//! The steps: one file a kind.

mod artifact_input;
mod artifact_output;
mod check;
mod get;
mod get_cache;
mod load_var;
mod metadata;
mod put;
mod resource;
mod run;
mod set_pipeline;
mod task;
mod task_caches;
mod task_config;

pub(crate) use get_cache::info_line;
pub(crate) use resource::filled;

use airside_model::PlanNode;

use crate::{Result, StepError, leaf::Leaf, status::Status};

/// Runs a step to its end, and commits its outcome.
pub(crate) async fn run_step(leaf: Leaf<'_>, node: &PlanNode) -> Result<Status> {
    leaf.conclude(run_kind(leaf, node).await).await
}

async fn run_kind(leaf: Leaf<'_>, node: &PlanNode) -> Result<Status, StepError> {
    match node {
        PlanNode::Task(task) => task::run(leaf, task).await,
        PlanNode::Get(get) => get::run(leaf, get).await,
        PlanNode::Put(put) => put::run(leaf, put).await,
        PlanNode::Check(check) => check::run(leaf, check).await,
        PlanNode::LoadVar(load) => load_var::run(leaf, load).await,
        PlanNode::SetPipeline(set) => set_pipeline::run(leaf, set).await,
        PlanNode::Run(prototype) => run::run(leaf, prototype).await,
        PlanNode::ArtifactInput(input) => artifact_input::run(leaf, input).await,
        PlanNode::ArtifactOutput(output) => artifact_output::run(leaf, output).await,
        PlanNode::Do(_)
        | PlanNode::InParallel(_)
        | PlanNode::Across(_)
        | PlanNode::OnSuccess(_)
        | PlanNode::OnFailure(_)
        | PlanNode::OnAbort(_)
        | PlanNode::OnError(_)
        | PlanNode::Ensure(_)
        | PlanNode::Try(_)
        | PlanNode::Timeout(_)
        | PlanNode::Retry(_) => unreachable!("the interpreter runs inner nodes itself"),
    }
}
