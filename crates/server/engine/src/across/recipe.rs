//! Makes the plan of each combination: when its turn comes, and not before.

use airside_model::{
    Plan, PlanId, PlanNode,
    plan::{AcrossPlan, MOST_COMBINATIONS},
};
use airside_vars::{LOCAL, Reference, traverse};
use serde_json::Value;

use super::{coerce, template};

/// The values of each variable.
pub(super) type Values = Vec<Vec<Value>>;

/// The template of an `across`, and what its variables go through.
pub(super) struct Recipe {
    pub(super) id: PlanId,
    names: Vec<String>,
    pub(super) values: Values,
    template: Value,
}

impl Recipe {
    /// `around` is how often the step stands there already, as others of its kind are around it.
    pub(super) fn new(
        id: &PlanId,
        node: &AcrossPlan,
        values: Values,
        around: u64,
    ) -> Result<Self, String> {
        check_count(&values, around)?;
        let template = serde_json::from_str(&node.substep_template)
            .map_err(|error| format!("invalid template bytes: {}", airside_model::chain(&error)))?;
        Ok(Self {
            id: id.clone(),
            names: node.vars.iter().map(|var| var.name.clone()).collect(),
            values,
            template,
        })
    }

    /// Gives the number of combinations.
    pub(super) fn count(&self) -> usize {
        self.values.iter().map(Vec::len).product()
    }

    /// Gives the values of one combination, in the order of the variables. Combinations that differ
    /// only in the last variable are next to each other.
    pub(super) fn combination(&self, mut number: usize) -> Vec<&Value> {
        let mut combination = Vec::with_capacity(self.values.len());
        for list in self.values.iter().rev().filter(|list| !list.is_empty()) {
            combination.push(&list[number % list.len()]);
            number /= list.len();
        }
        combination.reverse();
        combination
    }

    pub(super) fn vars(&self, number: usize) -> impl Iterator<Item = (&str, &Value)> {
        let names = self.names.iter().map(String::as_str);
        names.zip(self.combination(number))
    }

    /// Makes the plan of one combination: the template with the values in it, its nodes under ids
    /// of their own.
    pub(super) fn plan(&self, number: usize) -> Result<Plan, String> {
        let values = self.combination(number);
        let lookup = |reference: &Reference| {
            if reference.source != LOCAL {
                return Ok(None);
            }
            let found = self.names.iter().zip(&values).rev();
            let mut found = found.filter(|(name, _)| **name == reference.path);
            let value = found
                .next()
                .map(|(_, value)| traverse(value, reference).cloned());
            value.transpose()
        };
        let mut filled = template::fill(self.template.clone(), &lookup).map_err(|error| {
            format!(
                "failed to interpolate template: {}",
                airside_model::chain(&error)
            )
        })?;
        coerce::plan(&mut filled)?;
        let mut plan: Plan = serde_json::from_value(filled)
            .map_err(|error| format!("invalid template bytes: {}", airside_model::chain(&error)))?;
        rename(&mut plan, &self.id, number);
        Ok(plan)
    }
}

/// Checks the number of combinations: more than the limit are a mistake, or are meant to do harm,
/// and none of them begins.
pub(super) fn check_count(values: &[Vec<Value>], around: u64) -> Result<(), String> {
    if values.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut lengths = values.iter().map(|list| list.len() as u64);
    let count = lengths.try_fold(around, u64::checked_mul);
    if count.is_some_and(|count| count <= MOST_COMBINATIONS) {
        return Ok(());
    }
    let lengths: Vec<String> = values.iter().map(|list| list.len().to_string()).collect();
    let inside = match around {
        1 => String::new(),
        around => format!(" inside of {around} combinations of the `across` around it"),
    };
    Err(format!(
        "`across` may have {MOST_COMBINATIONS} combinations of values at most, with those of an `across` around \
         it; this one has {}{inside}: give its variables fewer values, or split the job",
        lengths.join(" × ")
    ))
}

fn rename(plan: &mut Plan, id: &PlanId, number: usize) {
    let mut renamed = Vec::new();
    plan.visit_mut(&mut |node| {
        let fresh = PlanId::new(format!("{id}/{number}/{}", renamed.len()));
        renamed.push((std::mem::replace(&mut node.id, fresh.clone()), fresh));
    });
    let renamed: std::collections::HashMap<PlanId, PlanId> = renamed.into_iter().rev().collect();
    // A get follows the put or check of its own combination.
    plan.visit_mut(&mut |node| {
        if let PlanNode::Get(get) = &mut node.node
            && let Some(from) = &mut get.version_from
            && let Some(fresh) = renamed.get(from)
        {
            *from = fresh.clone();
        }
    });
}

#[cfg(test)]
mod tests;
