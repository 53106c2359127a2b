//! Steps. Each kind has its own file: its fields, how they are read, its rules, its plan.
//!
//! To add a kind: a file here, a variant of [`Step`], and its key out of the lists of what this
//! version refuses (in `detect`).

mod detect;
pub(crate) mod do_step;
pub(crate) mod get;
pub(crate) mod in_parallel;
pub(crate) mod put;
pub(crate) mod task;

use airside_model::Plan;
use airside_yaml::Node;
use serde::{Deserialize, Serialize};

pub(crate) use detect::HOOKS;

use crate::plan::{PlanError, Planner};
use crate::reader::Reader;
use crate::validate::Checker;
use crate::{DoStep, GetStep, InParallelStep, PutStep, TaskStep};

/// A step of a plan. In JSON the key that names it tells its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    Get(GetStep),
    Put(PutStep),
    Task(Box<TaskStep>),
    Do(DoStep),
    InParallel(InParallelStep),
}

/// A step that runs something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaf<'a> {
    Get(&'a GetStep),
    Put(&'a PutStep),
    Task(&'a TaskStep),
}

impl Step {
    /// Calls `visit` with every get, put and task in this step, in order.
    pub fn visit_leaves<'a>(&'a self, visit: &mut impl FnMut(Leaf<'a>)) {
        match self {
            Self::Get(step) => visit(Leaf::Get(step)),
            Self::Put(step) => visit(Leaf::Put(step)),
            Self::Task(step) => visit(Leaf::Task(step)),
            Self::Do(step) => step.steps.iter().for_each(|step| step.visit_leaves(visit)),
            Self::InParallel(step) => {
                step.in_parallel
                    .steps
                    .iter()
                    .for_each(|step| step.visit_leaves(visit));
            }
        }
    }

    pub(crate) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        match self {
            Self::Get(step) => step.check(path, checker),
            Self::Put(step) => step.check(path, checker),
            Self::Task(step) => step.check(path, checker),
            Self::Do(step) => check_list(&step.steps, &format!("{path}.do"), checker),
            Self::InParallel(step) => step.check(path, checker),
        }
    }

    pub(crate) fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        match self {
            Self::Get(step) => step.plan(planner),
            Self::Put(step) => step.plan(planner),
            Self::Task(step) => step.plan(planner),
            Self::Do(step) => step.plan(planner),
            Self::InParallel(step) => step.plan(planner),
        }
    }
}

/// Reads a list of steps. One that cannot be read leaves an empty `do` in its place, so that the
/// others keep their numbers.
pub(crate) fn read_list(reader: &mut Reader, node: &Node, path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (index, item) in reader.items(node, path).iter().enumerate() {
        let step = detect::read(reader, item, &format!("{path}[{index}]"));
        steps.push(step.unwrap_or_else(|| {
            reader.steps_missing = true;
            Step::Do(DoStep::default())
        }));
    }
    steps
}

pub(crate) fn check_list(steps: &[Step], path: &str, checker: &mut Checker<'_>) {
    for (index, step) in steps.iter().enumerate() {
        step.check(&format!("{path}[{index}]"), checker);
    }
}
