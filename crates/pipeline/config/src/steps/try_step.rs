//! `try`: a step that may fail.

use airside_model::plan::TryPlan;
use airside_model::{Plan, PlanNode};
use serde::{Deserialize, Serialize};

use super::Step;
use crate::plan::{PlanError, Planner};
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TryStep {
    #[serde(rename = "try")]
    pub step: Box<Step>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "try_step",
    doc: "A step that may fail or err without ending the plan.",
    fields: &[Field::required("try", Kind::Step, "Step to run.")],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> TryStep {
    let path = fields.path.clone();
    let step = match fields.take("try") {
        Some(node) => super::read(fields.reader, node, &path),
        None => {
            let span = fields.key_span("try").unwrap_or(fields.span);
            fields.reader.problem(&path, span, "no step configured");
            Step::default()
        }
    };
    TryStep {
        step: Box::new(step),
    }
}

impl TryStep {
    pub(super) fn plan<'a>(&'a self, planner: &mut Planner<'a>) -> Result<Plan, PlanError> {
        let step = Box::new(self.step.plan(planner)?);
        planner.node(PlanNode::Try(TryPlan { step }))
    }
}
