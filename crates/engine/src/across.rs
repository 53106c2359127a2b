//! `across`: the same step for every combination of the values of some variables.
//!
//! The values may be known only now, so the plan of each combination is made here, from a template.
//! What they were is settled before the first of them begins: after a crash it is the same again.

use airside_model::{
    Plan, PlanId, PlanNode,
    event::{Event, Origin, Source},
    plan::{AcrossPlan, AcrossVar, MaxInFlight},
    public_plan::public_plan,
};
use airside_store::now;
use airside_vars::{LOCAL, Lookup, Reference, traverse};
use serde_json::{Value, json};

use crate::{
    Result,
    interpret::{Ended, Interpreter, Running},
    parallel::Parallel,
    scope::{Context, LocalVar},
    status::Status,
};

/// The values of each variable.
type Values = Vec<Vec<Value>>;

/// One combination of values, and the plan for it.
struct Substep {
    plan: Plan,
    values: Vec<Value>,
}

pub(crate) async fn run(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<Status> {
    let (origin, time) = (Origin::step(id), now().seconds());
    let (first, second) = (origin.clone(), origin.clone());
    let initialize = Event::Initialize {
        origin: first,
        time,
    };
    interpreter.say(id, "initialize", initialize).await?;
    let start = Event::Start {
        origin: second,
        time,
    };
    interpreter.say(id, "start", start).await?;
    warn_of_shadows(interpreter, id, node, context).await?;
    let values = match settle(interpreter, id, node, context).await? {
        Ok(values) => values,
        Err(words) => return err(interpreter, id, &words).await,
    };
    let substeps = match substeps(id, node, &values) {
        Ok(substeps) => substeps,
        Err(words) => return err(interpreter, id, &words).await,
    };
    let shown = |each: &Substep| json!({"step": public_plan(&each.plan), "values": each.values});
    let announcement = Event::AcrossSubsteps {
        time,
        origin: origin.clone(),
        substeps: substeps.iter().map(shown).collect(),
    };
    interpreter.say(id, "substeps", announcement).await?;
    let across = Across {
        interpreter,
        node,
        values: &values,
    };
    let status = across.level(0, &substeps, context.clone()).await?;
    conclude(interpreter, id, status, &substeps, context).await
}

/// Tells how it went. What its steps erred with is said once more.
async fn conclude(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    status: Status,
    substeps: &[Substep],
    context: &Context,
) -> Result<Status> {
    if let Some(cause) = context.stop.cause() {
        interpreter.complain(id, cause.words()).await?;
    } else if status.is_error() {
        let erred = substeps.iter().map(|substep| &substep.plan);
        let errors: Vec<String> = erred.flat_map(|plan| interpreter.errors(plan)).collect();
        err(interpreter, id, &several(&errors)).await?;
    } else {
        let event = Event::Finish {
            origin: Origin::step(id),
            time: now().seconds(),
            succeeded: status == Status::Succeeded,
        };
        interpreter.say(id, "finish", event).await?;
    }
    Ok(status)
}

async fn err(interpreter: &Interpreter<'_>, id: &PlanId, words: &str) -> Result<Status> {
    interpreter.complain(id, words).await?;
    let ended = Ended {
        version: None,
        error: Some(words.trim_end().to_owned()),
    };
    interpreter.ended.lock().insert(id.clone(), ended);
    Ok(Status::Errored)
}

/// Several errors as one text, the way Concourse lists them.
fn several(errors: &[String]) -> String {
    let counted = match errors.len() {
        1 => "1 error occurred:".to_owned(),
        count => format!("{count} errors occurred:"),
    };
    let lines: String = errors
        .iter()
        .map(|error| format!("\t* {error}\n"))
        .collect();
    format!("{counted}\n{lines}\n")
}

async fn warn_of_shadows(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<()> {
    for var in &node.vars {
        let reference = Reference {
            source: LOCAL.to_owned(),
            path: var.name.clone(),
            fields: Vec::new(),
        };
        if matches!(context.scope.vars().get(&reference), Ok(Some(_))) {
            let name = &var.name;
            let line =
                format!("\x1b[1;33mWARNING: across step shadows local var '{name}'\x1b[0m\n");
            let what = format!("shadow {name}");
            interpreter.print(id, &what, Source::Stderr, &line).await?;
        }
    }
    Ok(())
}

/// The values, once and for all.
async fn settle(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<Result<Values, String>> {
    let store = &interpreter.engine.parts.store;
    if let Some(values) = store.settled::<Values>(interpreter.build.id, id).await? {
        return Ok(Ok(values));
    }
    let mut values = Values::new();
    for var in &node.vars {
        match evaluate(interpreter, var, context).await {
            Ok(list) => values.push(list),
            Err(words) => return Ok(Err(words)),
        }
    }
    let begun = store
        .begin_node(interpreter.lease, id, Some(values.clone()))
        .await?;
    Ok(Ok(begun.1.unwrap_or(values)))
}

async fn evaluate(
    interpreter: &Interpreter<'_>,
    var: &AcrossVar,
    context: &Context,
) -> Result<Vec<Value>, String> {
    let local = Some(context.scope.vars());
    let filled = interpreter.variables.fill(var.values.clone(), local).await;
    match filled.map_err(|error| error.to_string())?.0 {
        Value::Array(list) => Ok(list),
        Value::Null => Ok(Vec::new()),
        _ => Err(format!(
            "the values of the across var '{}' are no list",
            var.name
        )),
    }
}

/// All combinations; those of the last variable lie next to each other.
fn combinations(values: &[Vec<Value>]) -> Vec<Vec<Value>> {
    values.iter().fold(vec![Vec::new()], |so_far, list| {
        let extended = |combination: &Vec<Value>, value: &Value| {
            let mut combination = combination.clone();
            combination.push(value.clone());
            combination
        };
        so_far
            .iter()
            .flat_map(|combination| list.iter().map(move |value| extended(combination, value)))
            .collect()
    })
}

fn substeps(id: &PlanId, node: &AcrossPlan, values: &Values) -> Result<Vec<Substep>, String> {
    let template: Value = serde_json::from_str(&node.substep_template)
        .map_err(|error| format!("invalid template bytes: {error}"))?;
    let numbered = combinations(values).into_iter().enumerate();
    numbered
        .map(|(number, values)| {
            let plan = substep(id, number, &node.vars, &values, template.clone())?;
            Ok(Substep { plan, values })
        })
        .collect()
}

/// The template with one combination filled in, its nodes under ids of their own.
fn substep(
    id: &PlanId,
    number: usize,
    vars: &[AcrossVar],
    values: &[Value],
    template: Value,
) -> Result<Plan, String> {
    let lookup = |reference: &Reference| {
        if reference.source != LOCAL {
            return Ok(None);
        }
        let found = vars.iter().zip(values).rev();
        let mut found = found.filter(|(var, _)| var.name == reference.path);
        let value = found
            .next()
            .map(|(_, value)| traverse(value, reference).cloned());
        value.transpose()
    };
    let filled = airside_vars::interpolate(template, &lookup)
        .map_err(|error| format!("failed to interpolate template: {error}"))?;
    let mut plan: Plan = serde_json::from_value(filled)
        .map_err(|error| format!("invalid template bytes: {error}"))?;
    let mut renamed = Vec::new();
    plan.visit_mut(&mut |node| {
        let fresh = PlanId::new(format!("{id}/{number}/{}", renamed.len()));
        renamed.push((std::mem::replace(&mut node.id, fresh.clone()), fresh));
    });
    // A get follows the put or check of its own combination.
    plan.visit_mut(&mut |node| {
        if let PlanNode::Get(get) = &mut node.node
            && let Some(from) = &mut get.version_from
            && let Some((_, fresh)) = renamed.iter().find(|(old, _)| old == from)
        {
            *from = fresh.clone();
        }
    });
    Ok(plan)
}

struct Across<'a> {
    interpreter: &'a Interpreter<'a>,
    node: &'a AcrossPlan,
    values: &'a Values,
}

impl Across<'_> {
    /// Runs the substeps that share the values of the first `depth` variables.
    fn level<'s>(&'s self, depth: usize, substeps: &'s [Substep], context: Context) -> Running<'s> {
        Box::pin(async move {
            let Some(var) = self.node.vars.get(depth) else {
                return Ok(Status::Succeeded);
            };
            let each: usize = self.values[depth + 1..].iter().map(Vec::len).product();
            let is_last = depth + 1 == self.node.vars.len();
            let begin = substeps.chunks(each.max(1)).map(|chunk| {
                move |context: Context| match (is_last, chunk) {
                    (true, [substep]) => self.substep(substep, &context),
                    _ => self.level(depth + 1, chunk, context),
                }
            });
            let begin: Vec<_> = begin.collect();
            let parallel = Parallel {
                context: &context,
                limit: match var.max_in_flight {
                    None => 1,
                    Some(MaxInFlight::Limit(limit)) => limit as usize,
                    Some(MaxInFlight::All) => begin.len(),
                },
                fail_fast: self.node.fail_fast,
            };
            parallel.run(begin).await
        })
    }

    /// The variables are filled in already; what a task's file refers to is not.
    fn substep<'s>(&'s self, substep: &'s Substep, context: &Context) -> Running<'s> {
        let scope = context.scope.inner();
        for (var, value) in self.node.vars.iter().zip(&substep.values) {
            let var_value = LocalVar {
                value: value.clone(),
                secret: false,
            };
            scope.add_var(&var.name, &var_value);
        }
        self.interpreter
            .run(&substep.plan, context.with_scope(scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(template: &Value) -> AcrossPlan {
        let var = |name: &str| AcrossVar {
            name: name.to_owned(),
            values: Value::Null,
            max_in_flight: None,
        };
        AcrossPlan {
            vars: vec![var("a"), var("b")],
            substep_template: template.to_string(),
            fail_fast: false,
        }
    }

    #[test]
    fn combinations_are_in_the_order_of_the_variables() {
        let values = vec![vec![json!(1), json!(2)], vec![json!("x"), json!("y")]];
        let texts: Vec<String> = combinations(&values)
            .iter()
            .map(|combination| json!(combination).to_string())
            .collect();
        assert_eq!(
            texts,
            [r#"[1,"x"]"#, r#"[1,"y"]"#, r#"[2,"x"]"#, r#"[2,"y"]"#]
        );
        assert_eq!(combinations(&[vec![json!(1)], vec![]]).len(), 0);
    }

    #[test]
    fn substeps_have_ids_and_values_of_their_own() {
        let template = json!({"id": "3", "on_success": {
            "step": {"id": "1", "put": {
                "name": "((.:a))", "type": "mock", "params": {"v": "((.:b))", "o": "((other))"},
            }},
            "on_success": {"id": "2", "get": {"name": "g", "type": "mock", "version_from": "1"}},
        }});
        let values = vec![vec![json!("x")], vec![json!([1]), json!({"k": 2})]];
        let made = substeps(&PlanId::new("f"), &node(&template), &values).unwrap();
        assert_eq!(made.len(), 2);
        let second = serde_json::to_value(&made[1].plan).unwrap();
        assert_eq!(second["id"], "f/1/0");
        let put = &second["on_success"]["step"];
        assert_eq!(
            (&put["id"], &put["put"]["name"]),
            (&json!("f/1/1"), &json!("x"))
        );
        assert_eq!(
            put["put"]["params"],
            json!({"v": {"k": 2}, "o": "((other))"})
        );
        let get = &second["on_success"]["on_success"];
        assert_eq!(get["id"], "f/1/2");
        assert_eq!(get["get"]["version_from"], "f/1/1");
    }

    #[test]
    fn what_cannot_be_filled_in_is_said() {
        let template = json!({"id": "1", "load_var": {"name": "a-((.:a))", "file": "f"}});
        let values = vec![vec![json!([1])], vec![json!(2)]];
        let words = substeps(&PlanId::new("f"), &node(&template), &values).err();
        let expected = "failed to interpolate template: cannot interpolate non-primitive value";
        assert!(words.is_some_and(|words| words.starts_with(expected)));
    }

    #[test]
    fn errors_are_counted() {
        assert_eq!(several(&["a".into()]), "1 error occurred:\n\t* a\n\n");
        let two = several(&["a".into(), "b".into()]);
        assert_eq!(two, "2 errors occurred:\n\t* a\n\t* b\n\n");
    }
}
