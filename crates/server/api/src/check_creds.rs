//! `fly set-pipeline --check-creds`: looks up the variables that are left in a pipeline.
//!
//! The installation's manager and the pipeline's `var_sources` are asked; variables that steps will
//! have set by then do not count, as in Concourse.

use std::collections::BTreeMap;

use airside_config::{Config, Leaf, TaskStep};
use airside_secrets::PipelineVariables;
use airside_vars::{Error, LOCAL, Lookup, Reference, names_in, resolve};
use serde::Serialize;
use serde_json::Value;

/// Answers of managers about each variable.
type Said = BTreeMap<Reference, Result<Option<Value>, Error>>;

/// Returns the text about variables without a value; `None` if all have one.
pub(crate) async fn refusal(config: &Config, variables: &PipelineVariables) -> Option<String> {
    let mut said = Said::new();
    for name in names(config) {
        if let Ok(reference) = Reference::parse(&name)
            && reference.source != LOCAL
        {
            let found = variables.get(&reference).await;
            said.insert(reference, found);
        }
    }
    let known = |reference: &Reference| said.get(reference).cloned().unwrap_or(Ok(None));
    told(&lacking(config, &known))
}

/// The variables of all parts that are looked at.
fn names(config: &Config) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |part: Value| names.extend(names_in(&part));
    let types = config.resource_types.iter();
    types.for_each(|type_| add(value(&type_.source)));
    for resource in &config.resources {
        add(value(&resource.source));
        add(value(&resource.webhook_token));
    }
    for job in &config.jobs {
        job.visit_leaves(&mut |leaf| {
            if let Leaf::Task(step) = leaf {
                add(value(&(&step.params, &step.vars, &step.config)));
            }
        });
    }
    names
}

/// Returns one line for each part that lacks variables.
fn lacking(config: &Config, known: &dyn Lookup) -> Vec<String> {
    let mut unknown = Vec::new();
    for type_ in &config.resource_types {
        unknown.extend(lacks(&type_.source, known));
    }
    for resource in &config.resources {
        unknown.extend(lacks(&resource.source, known));
        unknown.extend(lacks(&resource.webhook_token, known));
    }
    for job in &config.jobs {
        job.visit_leaves(&mut |leaf| {
            if let Leaf::Task(step) = leaf {
                unknown.extend(task_lacks(step, known));
            }
        });
    }
    unknown
}

fn told(unknown: &[String]) -> Option<String> {
    let (first, count) = (unknown.first()?, unknown.len());
    let listed = if count == 1 {
        format!("1 error occurred:\n\t* {first}")
    } else {
        let lines: String = unknown.iter().map(|each| format!("\n\t* {each}")).collect();
        format!("{count} errors occurred:{lines}")
    };
    Some(format!("credential validation failed\n\n{listed}\n\n"))
}

/// Returns a line for each part of a task step that lacks variables. A line about the task's own
/// configuration says so, since the step around it may lack a variable of the same name.
fn task_lacks(step: &TaskStep, known: &dyn Lookup) -> impl Iterator<Item = String> {
    let config = step.config.as_ref().and_then(|config| lacks(config, known));
    let config = config.map(|lacks| format!("failed to interpolate task config: {lacks}"));
    let all = [lacks(&step.params, known), lacks(&step.vars, known), config];
    all.into_iter().flatten()
}

fn lacks(part: &impl Serialize, known: &dyn Lookup) -> Option<String> {
    let error = resolve(value(part), known).err();
    error.map(|error| airside_model::chain(&error))
}

fn value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or(Value::Null)
}
