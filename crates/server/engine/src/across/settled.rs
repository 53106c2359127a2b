//! The values of an `across`, settled before the first of its substeps begins.

use airside_model::{
    PlanId,
    plan::{AcrossPlan, AcrossVar},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recipe::{Values, check_count};
use crate::{Result, StepError, interpret::Interpreter, scope::Context};

/// The values that an `across` goes through, decided when it begins.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub(super) struct Settled {
    pub(super) values: Values,
    /// Values of variables that were looked up for them: none of the build's output shows them.
    pub(super) secrets: Vec<Value>,
}

/// Versions before the secrets were kept wrote the values alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Values(Values),
    Settled { values: Values, secrets: Vec<Value> },
}

impl From<Stored> for Settled {
    fn from(stored: Stored) -> Self {
        let (values, secrets) = match stored {
            Stored::Values(values) => (values, Vec::new()),
            Stored::Settled { values, secrets } => (values, secrets),
        };
        Self { values, secrets }
    }
}

/// The values, once and for all. They are not settled if there are too many of them.
pub(super) async fn settle(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<Settled, StepError> {
    let store = &interpreter.engine.parts.store;
    if let Some(settled) = store.settled::<Settled>(interpreter.build.id, id).await? {
        return Ok(settled);
    }
    let mut settled = Settled::default();
    for var in &node.vars {
        let (list, secrets) = evaluate(interpreter, var, context).await?;
        settled.values.push(list);
        settled.secrets.extend(secrets);
    }
    check_count(&settled.values, context.combinations)?;
    let begun = store
        .begin_node(interpreter.lease, id, Some(settled.clone()))
        .await?;
    Ok(begun.1.unwrap_or(settled))
}

/// Gives the values of a variable, and the secrets that went into them.
async fn evaluate(
    interpreter: &Interpreter<'_>,
    var: &AcrossVar,
    context: &Context,
) -> Result<(Vec<Value>, Vec<Value>), String> {
    let local = Some(context.scope.vars());
    let filled = interpreter.variables.fill(var.values.clone(), local).await;
    let (values, secrets) = filled.map_err(|error| airside_model::chain(&error))?;
    match values {
        Value::Array(list) => Ok((list, secrets)),
        Value::Null => Ok((Vec::new(), secrets)),
        _ => Err(format!(
            "the values of the across var '{}' are not a list",
            var.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_settled_is_read_again_also_from_before_secrets_were_kept() {
        let new = Settled {
            values: vec![vec![json!("s")]],
            secrets: vec![json!("s")],
        };
        let again: Settled = serde_json::from_value(json!(new)).unwrap();
        assert_eq!((again.values, again.secrets), (new.values, new.secrets));
        let old: Settled = serde_json::from_value(json!([["s"], []])).unwrap();
        assert_eq!(old.values, [vec![json!("s")], vec![]]);
    }
}
