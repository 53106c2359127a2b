//! `do`: steps one after the other.

use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};

use super::{Step, read_list};
use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoStep {
    #[serde(rename = "do")]
    pub steps: Vec<Step>,
    /// Tags of the steps inside that have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "do_step",
    doc: "Runs steps in order.",
    fields: &[
        Field::required("do", Kind::Steps, "Steps to run."),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers for steps without tags of their own.",
        ),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> DoStep {
    let path = fields.path.clone();
    let steps = match fields.take("do") {
        Some(node) => read_list(fields.reader, node, &path),
        None => Vec::new(),
    };
    DoStep {
        steps,
        tags: fields.strings("tags"),
    }
}

impl DoStep {
    pub(super) fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        let steps = planner.with_tags(&self.tags, |planner| planner.steps(&self.steps))?;
        planner.node(PlanNode::Do(steps))
    }
}
