//! `in_parallel`: steps at the same time.

use airside_model::plan::InParallelPlan;
use airside_model::{Plan, PlanNode};
use airside_yaml::{Node, Value};
use serde::{Deserialize, Serialize};

use super::{Step, check_list, read_list};
use crate::plan::{PlanError, Planner};
use crate::reader::{Fields, Reader};
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InParallelStep {
    pub in_parallel: InParallel,
    /// Tags of the steps inside that have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Always written out as a map, although a bare list may be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InParallel {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Number of steps that run at once; zero means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limit: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(crate) static SHAPE: Shape = Shape {
    name: "in_parallel_step",
    doc: "Runs steps at the same time.",
    fields: &[
        Field::required("in_parallel", Kind::StepsOr(&CONFIG), "Steps to run."),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers for steps without tags of their own.",
        ),
    ],
};

pub(crate) static CONFIG: Shape = Shape {
    name: "in_parallel_config",
    doc: "Runs steps at the same time, with limits.",
    fields: &[
        Field::required("steps", Kind::Steps, "Steps to run."),
        Field::new(
            "limit",
            Kind::Count,
            "Maximum number of steps that run at once; by default all.",
        ),
        Field::new(
            "fail_fast",
            Kind::Flag,
            "Stop the other steps when one fails.",
        ),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> InParallelStep {
    let path = fields.path.clone();
    let in_parallel = match fields.take("in_parallel") {
        Some(node) => read_config(fields.reader, node, &path),
        None => InParallel::default(),
    };
    InParallelStep {
        in_parallel,
        tags: fields.strings("tags"),
    }
}

fn read_config(reader: &mut Reader, node: &Node, path: &str) -> InParallel {
    let steps_path = format!("{path}.steps");
    match &node.value {
        Value::Seq(_) => InParallel {
            steps: read_list(reader, node, &steps_path),
            ..InParallel::default()
        },
        Value::Map(_) => {
            let Some(mut fields) = Fields::open(reader, node, path, &CONFIG) else {
                return InParallel::default();
            };
            let steps = match fields.take("steps") {
                Some(steps) => read_list(fields.reader, steps, &steps_path),
                None => Vec::new(),
            };
            let limit = fields.count("limit");
            let fail_fast = fields.flag("fail_fast");
            fields.close_loosely();
            InParallel {
                steps,
                limit,
                fail_fast,
            }
        }
        _ => {
            reader.wrong_type(path, node, "a list of steps, or a map with `steps`");
            InParallel::default()
        }
    }
}

impl InParallelStep {
    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.in_parallel.steps");
        let steps = &self.in_parallel.steps;
        // One at a time is one after the other.
        if self.in_parallel.limit == 1 {
            return check_list(steps, &path, checker);
        }
        checker.beside_each_other(steps.iter().enumerate(), |checker, (index, step)| {
            step.check(&format!("{path}[{index}]"), checker);
        });
    }

    pub(super) fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        let config = &self.in_parallel;
        let steps = planner.with_tags(&self.tags, |planner| planner.steps(&config.steps))?;
        planner.node(PlanNode::InParallel(InParallelPlan {
            steps,
            limit: (config.limit > 0).then_some(config.limit),
            fail_fast: config.fail_fast,
        }))
    }
}
