//! `across`: the same step for every combination of the values of some variables.
//!
//! The values may be known only now, so the plan of each combination is made here, from a template,
//! and only when its turn has come. What the values were is settled before the first of them
//! begins: after a crash it is computed again, with the same result.

mod announce;
mod coerce;
mod recipe;
mod settled;
mod template;

use std::{ops::Range, sync::Arc};

use airside_model::{
    PlanId,
    event::{Event, Origin, Source},
    plan::{AcrossPlan, MaxInFlight},
};
use airside_store::now;
use airside_vars::{LOCAL, Lookup, Reference};
use parking_lot::Mutex;

use crate::{
    Result, StepError,
    interpret::{Interpreter, LeafEnd, Running},
    parallel::Parallel,
    scope::{Context, LocalVar},
    status::Status,
};
use recipe::Recipe;
use settled::settle;

pub(crate) async fn run(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<Status> {
    let (origin, time) = (Origin::step(id), now().seconds());
    let initialize = Event::Initialize {
        origin: origin.clone(),
        time,
    };
    interpreter.say(id, "initialize", initialize).await?;
    let start = Event::Start { origin, time };
    interpreter.say(id, "start", start).await?;
    warn_of_shadows(interpreter, id, node, context).await?;
    let recipe = match prepare(interpreter, id, node, context).await {
        Ok(recipe) => recipe,
        Err(error) => return err(interpreter, id, &error.into_words()?).await,
    };
    let across = Across {
        interpreter,
        node,
        recipe: &recipe,
        errors: Mutex::default(),
    };
    let inner = context.with_combinations(recipe.count() as u64);
    let status = across.level(0, 0..recipe.count(), inner).await?;
    across.conclude(status, context).await
}

/// Settles the values and announces the substeps. Returns the reason if there can be none.
async fn prepare(
    interpreter: &Interpreter<'_>,
    id: &PlanId,
    node: &AcrossPlan,
    context: &Context,
) -> Result<Arc<Recipe>, StepError> {
    let settled = settle(interpreter, id, node, context).await?;
    let hidden = interpreter.hide(&settled.secrets).await;
    hidden.map_err(|too_much| too_much.to_string())?;
    let recipe = Recipe::new(id, node, settled.values, context.combinations)?;
    let recipe = Arc::new(recipe);
    if interpreter.has_said(id, "substeps") {
        return Ok(recipe);
    }
    let (shown, secrets) = (Arc::clone(&recipe), interpreter.secrets.clone());
    let made = airside_tasks::blocking("substeps", move || announce::substeps(&shown, &secrets));
    let substeps = made.await??;
    let announcement = Event::AcrossSubsteps {
        time: now().seconds(),
        origin: Origin::step(id),
        substeps,
    };
    interpreter.say(id, "substeps", announcement).await?;
    Ok(recipe)
}

async fn err(interpreter: &Interpreter<'_>, id: &PlanId, words: &str) -> Result<Status> {
    interpreter.complain(id, words).await?;
    let ended = LeafEnd {
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
        .map(|reason| format!("\t* {reason}\n"))
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

struct Across<'a> {
    interpreter: &'a Interpreter<'a>,
    node: &'a AcrossPlan,
    recipe: &'a Recipe,
    /// Errors of substeps, with the substeps' numbers.
    errors: Mutex<Vec<(usize, String)>>,
}

impl Across<'_> {
    /// Runs the substeps that share the values of the first `depth` variables.
    fn level<'s>(&'s self, depth: usize, numbers: Range<usize>, context: Context) -> Running<'s> {
        Box::pin(async move {
            let Some(var) = self.node.vars.get(depth) else {
                return Ok(Status::Succeeded);
            };
            let rest = &self.recipe.values[depth + 1..];
            let each = rest.iter().map(Vec::len).product::<usize>().max(1);
            let is_last = rest.is_empty();
            let begin = numbers.clone().step_by(each).map(|first| {
                move |context: Context| {
                    if is_last {
                        self.substep(first, context)
                    } else {
                        self.level(depth + 1, first..first + each, context)
                    }
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

    /// Makes and runs one substep. The variables are filled in already; what a task's file refers
    /// to is not.
    fn substep(&self, number: usize, context: Context) -> Running<'_> {
        Box::pin(async move {
            let plan = match self.recipe.plan(number) {
                Ok(plan) => plan,
                Err(words) => {
                    self.errors.lock().push((number, words));
                    return Ok(Status::Errored);
                }
            };
            let scope = context.scope.inner();
            let secrets = &self.interpreter.secrets;
            for (name, value) in self.recipe.vars(number) {
                let var = LocalVar {
                    value: value.clone(),
                    secret: announce::without_secrets(value, secrets) != *value,
                };
                scope.add_var(name, &var);
            }
            let status = self
                .interpreter
                .run_node(&plan, context.with_scope(scope))
                .await?;
            if status.is_error() {
                let errors = self.interpreter.errors(&plan);
                let numbered = errors.into_iter().map(|error| (number, error));
                self.errors.lock().extend(numbered);
            }
            Ok(status)
        })
    }

    /// Reports how it went, with the errors of its steps once more.
    async fn conclude(self, status: Status, context: &Context) -> Result<Status> {
        let (interpreter, id) = (self.interpreter, &self.recipe.id);
        if let Some(cause) = context.stop.cause() {
            interpreter.complain(id, cause.words()).await?;
        } else if status.is_error() {
            let mut errors = self.errors.into_inner();
            errors.sort_by_key(|(number, _)| *number);
            let errors: Vec<String> = errors.into_iter().map(|(_, error)| error).collect();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted() {
        assert_eq!(several(&["a".into()]), "1 error occurred:\n\t* a\n\n");
        let two = several(&["a".into(), "b".into()]);
        assert_eq!(two, "2 errors occurred:\n\t* a\n\t* b\n\n");
    }
}
