//! `fly set-pipeline --check-creds`: whether somebody knows the variables that are left in a pipeline.
//!
//! As in Concourse, that is the installation's credential manager alone: neither the pipeline's `var_sources` nor
//! what steps will have set by then count.

use airside_config::{Config, Leaf, TaskStep};
use airside_vars::{Lookup, resolve};
use serde::Serialize;
use serde_json::Value;

/// What is said of variables that nobody knows; nothing if all are known.
pub(crate) fn refusal(config: &Config, known: &dyn Lookup) -> Option<String> {
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
    let (first, count) = (unknown.first()?, unknown.len());
    let listed = if count == 1 {
        format!("1 error occurred:\n\t* {first}")
    } else {
        let lines: String = unknown.iter().map(|each| format!("\n\t* {each}")).collect();
        format!("{count} errors occurred:{lines}")
    };
    Some(format!("credential validation failed\n\n{listed}\n\n"))
}

/// What a task's own configuration lacks is said to be its: names may be the same around it.
fn task_lacks(step: &TaskStep, known: &dyn Lookup) -> impl Iterator<Item = String> {
    let config = step.config.as_ref().and_then(|config| lacks(config, known));
    let config = config.map(|error| format!("failed to interpolate task config: {error}"));
    let all = [lacks(&step.params, known), lacks(&step.vars, known), config];
    all.into_iter().flatten()
}

fn lacks(part: &impl Serialize, known: &dyn Lookup) -> Option<String> {
    let value = serde_json::to_value(part).unwrap_or(Value::Null);
    resolve(value, known).err().map(|error| error.to_string())
}
