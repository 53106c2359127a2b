//! The event that lists the substeps of an `across`. Each is made once for it and let go again.

use airside_config::MAX_NODES;
use airside_model::{Plan, public_plan::public_plan};
use airside_vars::Secrets;
use serde_json::{Value, json};

use super::recipe::Recipe;

/// The most that the event may have.
const MAX_SHOWN: usize = 16 * 1024 * 1024;
/// The most that the plans of all substeps may have together.
const MAX_PLANNED: usize = 256 * 1024 * 1024;

/// Gives all substeps as `fly` and the web page expect them, without secrets. Says why if one of
/// them cannot be made, or if they are too large.
pub(super) fn substeps(recipe: &Recipe, secrets: &Secrets) -> Result<Vec<Value>, String> {
    let (mut shown, mut nodes, mut planned, mut bytes) = (Vec::new(), 0, 0, 0);
    for number in 0..recipe.count() {
        let plan = recipe.plan(number)?;
        let own = count_nodes(&plan);
        nodes += own;
        planned += serde_json::to_string(&plan).map_or(0, |text| text.len());
        // Substeps are alike, so the first tells how many nodes there will be.
        if nodes > MAX_NODES || own.saturating_mul(recipe.count() as u64) > MAX_NODES {
            return Err(too_large(&format!("more than {MAX_NODES} steps")));
        }
        let values = recipe.combination(number).into_iter();
        let values: Value = values
            .map(|value| without_secrets(value, secrets))
            .collect();
        let step = shown_plan(&public_plan(&plan), recipe.id.as_str(), secrets);
        let substep = json!({"step": step, "values": values});
        bytes += substep.to_string().len();
        if planned > MAX_PLANNED || bytes > MAX_SHOWN {
            return Err(too_large("too much text in their names, params and values"));
        }
        shown.push(substep);
    }
    Ok(shown)
}

fn too_large(what: &str) -> String {
    format!(
        "the combinations of this `across` have {what} together: give its variables fewer or smaller values, or \
         split the job"
    )
}

fn count_nodes(plan: &Plan) -> u64 {
    let mut count = 0;
    plan.visit(&mut |_| count += 1);
    count
}

/// Gives the value with all texts redacted, wherever they stand in it.
pub(super) fn without_secrets(value: &Value, secrets: &Secrets) -> Value {
    match value {
        Value::String(text) => Value::String(secrets.redact(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| without_secrets(item, secrets))
            .collect(),
        Value::Object(map) => {
            let entries = map.iter();
            let redacted =
                entries.map(|(key, value)| (secrets.redact(key), without_secrets(value, secrets)));
            Value::Object(redacted.collect())
        }
        other => other.clone(),
    }
}

/// Redacts what a public plan shows. The ids of its nodes are made here and stay as they are.
fn shown_plan(plan: &Value, across: &str, secrets: &Secrets) -> Value {
    match plan {
        Value::Object(node) => {
            let entries = node.iter().map(|(key, value)| {
                let shown = match value {
                    Value::String(text) if key == "id" && is_own_id(text, across) => value.clone(),
                    value => shown_plan(value, across, secrets),
                };
                (key.clone(), shown)
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| shown_plan(item, across, secrets))
            .collect(),
        other => without_secrets(other, secrets),
    }
}

fn is_own_id(id: &str, across: &str) -> bool {
    let number = id.strip_prefix(across);
    number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit() || c == '/'))
}

#[cfg(test)]
mod tests {
    use airside_model::{
        PlanId,
        plan::{AcrossPlan, AcrossVar},
    };

    use super::*;

    fn recipe(template: &Value, values: Vec<Value>) -> Recipe {
        let var = AcrossVar {
            name: "v".to_owned(),
            values: Value::Null,
            max_in_flight: None,
        };
        let node = AcrossPlan {
            vars: vec![var],
            substep_template: template.to_string(),
            fail_fast: false,
        };
        Recipe::new(&PlanId::new("7"), &node, vec![values], 1).unwrap()
    }

    #[test]
    fn secrets_do_not_show_in_names_and_values() {
        let template = json!({"id": "1", "set_pipeline": {
            "name": "p-((.:v))", "file": "f", "instance_vars": {"id": "((.:v))"},
        }});
        let secrets = Secrets::default();
        secrets.add(&json!("hunter2\n7/0")).unwrap();
        let recipe = recipe(&template, vec![json!("hunter2")]);
        let shown = substeps(&recipe, &secrets).unwrap();
        assert_eq!(
            shown,
            [
                json!({"values": ["((redacted))"], "step": {"id": "7/0/0", "set_pipeline": {
                    "name": "p-((redacted))", "team": "", "instance_vars": {"id": "((redacted))"},
                }}})
            ]
        );
    }

    #[test]
    fn hostile_values_make_no_endless_event() {
        let template = json!({"id": "1", "load_var": {"name": "((.:v))((.:v))", "file": "f"}});
        let recipe = recipe(&template, vec![json!("x".repeat(1_000_000)); 100]);
        let words = substeps(&recipe, &Secrets::default()).unwrap_err();
        assert!(words.contains("too much text"), "{words}");
    }

    #[test]
    fn hostile_templates_make_no_endless_plan() {
        let steps: Vec<Value> = (0..60)
            .map(|n| json!({"id": n.to_string(), "load_var": {"name": "n", "file": "f"}}))
            .collect();
        let template = json!({"id": "a", "do": steps});
        let recipe = recipe(&template, vec![json!(1); 2_000]);
        let words = substeps(&recipe, &Secrets::default()).unwrap_err();
        assert!(words.contains("more than 100000 steps"), "{words}");
    }
}
