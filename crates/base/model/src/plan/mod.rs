//! The plan of a build: a tree whose leaves are steps. The same JSON that Concourse keeps, and that
//! `fly execute` sends.
//!
//! `leaves` has the nodes that run something, `branches` those that combine other nodes.

mod branches;
mod leaves;
mod walk;

pub use branches::{
    AcrossPlan, AcrossVar, EnsurePlan, InParallelPlan, MOST_COMBINATIONS, MaxInFlight, OnAbortPlan,
    OnErrorPlan, OnFailurePlan, OnSuccessPlan, TimeoutPlan, TryPlan,
};
pub use leaves::{
    ArtifactInputPlan, ArtifactOutputPlan, CheckPlan, GetPlan, LoadVarPlan, PutInputs, PutPlan,
    RunPlan, SetPipelinePlan, TaskPlan, TypeImage,
};

use serde::{Deserialize, Serialize};

use crate::PlanId;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub id: PlanId,
    /// Number of the attempt for each retry around it, outermost first and counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<u32>,
    #[serde(flatten)]
    pub node: PlanNode,
}

impl Plan {
    pub fn new(id: PlanId, node: PlanNode) -> Self {
        Self {
            id,
            attempts: Vec::new(),
            node,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanNode {
    Get(GetPlan),
    Put(PutPlan),
    Check(CheckPlan),
    Task(Box<TaskPlan>),
    Run(RunPlan),
    SetPipeline(SetPipelinePlan),
    LoadVar(LoadVarPlan),
    Do(Vec<Plan>),
    InParallel(InParallelPlan),
    Across(AcrossPlan),
    OnSuccess(OnSuccessPlan),
    OnFailure(OnFailurePlan),
    OnAbort(OnAbortPlan),
    OnError(OnErrorPlan),
    Ensure(EnsurePlan),
    Try(TryPlan),
    Timeout(TimeoutPlan),
    /// One plan per attempt.
    Retry(Vec<Plan>),
    ArtifactInput(ArtifactInputPlan),
    ArtifactOutput(ArtifactOutputPlan),
}

impl PlanNode {
    /// The node's key in JSON, which is also what people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Get(_) => "get",
            Self::Put(_) => "put",
            Self::Check(_) => "check",
            Self::Task(_) => "task",
            Self::Run(_) => "run",
            Self::SetPipeline(_) => "set_pipeline",
            Self::LoadVar(_) => "load_var",
            Self::Do(_) => "do",
            Self::InParallel(_) => "in_parallel",
            Self::Across(_) => "across",
            Self::OnSuccess(_) => "on_success",
            Self::OnFailure(_) => "on_failure",
            Self::OnAbort(_) => "on_abort",
            Self::OnError(_) => "on_error",
            Self::Ensure(_) => "ensure",
            Self::Try(_) => "try",
            Self::Timeout(_) => "timeout",
            Self::Retry(_) => "retry",
            Self::ArtifactInput(_) => "artifact_input",
            Self::ArtifactOutput(_) => "artifact_output",
        }
    }
}

#[cfg(test)]
mod tests;
