//! `across`: a step once for each combination of values.

use airside_model::plan::{self, AcrossPlan, MOST_COMBINATIONS, MaxInFlight};
use airside_model::{Plan, PlanNode};
use airside_yaml::{Node, Value};
use serde::{Deserialize, Serialize};

use super::Core;
use crate::plan::{PlanError, Planner};
use crate::reader::{Fields, Reader};
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

/// Deeper nesting would make plans grow out of bounds: each level is quoted inside the other.
pub(crate) const MAX_NESTING: usize = 5;

/// One variable and the values that it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcrossVar {
    pub var: String,
    /// A list, or a variable that is one.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub values: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<MaxInFlight>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "across",
    doc: "Runs a step once for each combination of values.",
    fields: &[
        Field::new(
            "across",
            Kind::List(&VAR),
            "Variables with their values; the first changes slowest.",
        ),
        Field::new(
            "fail_fast",
            Kind::Flag,
            "Stop the other combinations when one fails.",
        ),
    ],
};

pub(crate) static VAR: Shape = Shape {
    name: "across_var",
    doc: "A variable and the values that it takes, for ((.:name)) inside the step.",
    fields: &[
        Field::required("var", Kind::Text, "Name of the variable."),
        Field::new(
            "values",
            Kind::Anything,
            "A list, or a variable that is one.",
        ),
        Field::new(
            "max_in_flight",
            Kind::MaxInFlight,
            "Maximum number of values that run at once: a number, or all.",
        ),
    ],
};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> Vec<AcrossVar> {
    let vars = fields.list("across", read_var);
    let is_empty_list = match fields.take("across") {
        Some(node) => matches!(&node.value, Value::Seq(items) if items.is_empty()),
        None => true,
    };
    if is_empty_list {
        fields.complain("across", "no vars specified");
    }
    vars
}

fn read_var(reader: &mut Reader, node: &Node, path: &str) -> Option<AcrossVar> {
    reader.places.note(path, node.span);
    let mut fields = Fields::open(reader, node, path, &VAR)?;
    let var = AcrossVar {
        var: fields.string("var"),
        values: fields.json("values"),
        max_in_flight: read_max_in_flight(&mut fields),
    };
    if fields.lacks("var") {
        fields
            .reader
            .problem(path, node.span, "the variable has no name");
    }
    fields.close();
    Some(var)
}

fn read_max_in_flight(fields: &mut Fields<'_, '_>) -> Option<MaxInFlight> {
    let path = fields.path_of("max_in_flight");
    let node = fields.take("max_in_flight")?;
    match &node.value {
        Value::String(word) if word == "all" => return Some(MaxInFlight::All),
        Value::Int(limit) => match u32::try_from(*limit) {
            Ok(limit) if limit > 0 => return Some(MaxInFlight::Limit(limit)),
            _ => fields
                .reader
                .problem(&path, node.span, "must be greater than 0"),
        },
        _ => fields
            .reader
            .wrong_type(&path, node, "`all` or a whole number"),
    }
    None
}

pub(super) fn check(vars: &[AcrossVar], core: &Core, path: &str, checker: &mut Checker<'_>) {
    let path = format!("{path}.across");
    let lists = vars.iter().filter_map(|var| var.values.as_array());
    let combinations = lists.fold(1, |count: u64, list| {
        count.saturating_mul(list.len() as u64)
    });
    if combinations > MOST_COMBINATIONS {
        let message = format!(
            "has more than {MOST_COMBINATIONS} combinations of values; give its variables fewer values, or split the job"
        );
        checker.problem(&path, message);
    }
    checker.local_vars.open();
    for (index, var) in vars.iter().enumerate() {
        checker.declare(&var.var, &format!("{path}[{index}]"));
    }
    // The names of such steps may have variables in them.
    checker.any_name = matches!(core, Core::Task(_) | Core::SetPipeline(_));
    core.check(&path, checker);
    checker.any_name = false;
    checker.local_vars.close();
}

/// The step's plan goes in as text: its variables are filled in once their values are known.
pub(super) fn plan(
    vars: &[AcrossVar],
    fail_fast: bool,
    step: &Plan,
    planner: &mut Planner<'_>,
) -> Result<Plan, PlanError> {
    let substep_template = serde_json::to_string(step).expect("a plan is JSON");
    let vars = vars.iter().map(|var| plan::AcrossVar {
        name: var.var.clone(),
        values: var.values.clone(),
        max_in_flight: var.max_in_flight,
    });
    planner.node(PlanNode::Across(AcrossPlan {
        vars: vars.collect(),
        substep_template,
        fail_fast,
    }))
}
