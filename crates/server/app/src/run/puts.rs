//! `--no-put`: puts, and what needs what they would have made, are left out of a run.

use std::collections::{HashMap, HashSet};

use airside_config::{Config, Job, inputs, outputs};
use airside_model::{
    Plan, PlanId, PlanNode, Version,
    plan::{PutPlan, TaskPlan},
};
use airside_vars::Reference;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// Characters of a put's params that are shown.
const MAX_SHOWN: usize = 200;

/// The fields of a put step that no other step has.
const PUT_FIELDS: [&str; 7] = [
    "put",
    "resource",
    "params",
    "inputs",
    "tags",
    "get_params",
    "no_get",
];

/// A step that does not run, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Returns the pipeline without puts, to find out what the rest of it needs.
pub(crate) fn without_puts(config: &Config) -> Result<Config, String> {
    let without = || {
        let mut config = serde_json::to_value(config)?;
        remove_puts(&mut config["jobs"]);
        serde_json::from_value(config)
    };
    without().map_err(|error: serde_json::Error| {
        format!("cannot leave out puts: {}", airside_model::chain(&error))
    })
}

fn remove_puts(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_puts),
        Value::Object(fields) => {
            if fields.get("put").is_some_and(Value::is_string) {
                PUT_FIELDS.iter().for_each(|field| {
                    fields.remove(*field);
                });
                fields.insert("do".to_owned(), Value::Array(Vec::new()));
            }
            // Hooks stay; what people wrote for tasks is not a step.
            let steps = fields.iter_mut().filter(|(key, _)| *key != "config");
            steps.for_each(|(_, inner)| remove_puts(inner));
        }
        _ => {}
    }
}

/// Takes the puts out of a build's plan, the gets of what they make, and all steps that need that.
pub(crate) fn leave_out(plan: &mut Plan) -> Result<Vec<LeftOut>> {
    let mut pruning = Pruning::default();
    pruning.prune(plan)?;
    Ok(pruning.left_out)
}

/// Returns the reason for which a job cannot run without the puts of the jobs before it. `used` has
/// the versions of the jobs that ran.
pub(crate) fn missing_input(
    config: &Config,
    job: &Job,
    used: &HashMap<String, HashMap<String, Version>>,
    is_given: impl Fn(&str) -> bool,
) -> Option<String> {
    let all = inputs(job).into_iter();
    let mut open = all.filter(|input| !is_given(&input.resource));
    open.find_map(|input| {
        let mut passed = config.passed_jobs(&input.passed).into_iter();
        let maker = passed.find(|job| {
            let has_version = |used: &HashMap<String, Version>| used.contains_key(&input.resource);
            let puts = || {
                outputs(job)
                    .into_iter()
                    .any(|output| output.resource == input.resource)
            };
            used.get(&job.name).is_some_and(|used| !has_version(used)) && puts()
        })?;
        Some(format!(
            "its input `{}` is what job `{}` puts (--no-put)",
            input.name, maker.name
        ))
    })
}

/// A walk through a plan in the order of its steps.
#[derive(Default)]
struct Pruning {
    puts: HashSet<PlanId>,
    /// Artifacts that a step makes.
    made: HashSet<String>,
    /// Artifacts that nothing makes now, unless a later step does.
    missing: HashSet<String>,
    /// Local variables that nothing sets now.
    unset: HashSet<String>,
    left_out: Vec<LeftOut>,
}

impl Pruning {
    fn prune(&mut self, plan: &mut Plan) -> Result<()> {
        let mut failed = None;
        plan.visit_mut(&mut |plan| {
            if let Err(error) = self.prune_node(plan) {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn prune_node(&mut self, plan: &mut Plan) -> Result<()> {
        if let PlanNode::Across(across) = &mut plan.node {
            // A put that hides in there must not run.
            let mut inner: Plan = serde_json::from_str(&across.substep_template)
                .context("cannot leave out the puts of an `across` step")?;
            self.prune(&mut inner)?;
            across.substep_template = serde_json::to_string(&inner)?;
            return Ok(());
        }
        let Some(reason) = self.reason(plan) else {
            self.note_made(&plan.node);
            return Ok(());
        };
        self.note_missing(plan);
        self.left_out.push(LeftOut {
            kind: plan.node.name(),
            name: name(&plan.node).to_owned(),
            // A stranger's params may hold what moves a terminal's cursor.
            reason: reason.chars().filter(|char| !char.is_control()).collect(),
        });
        plan.node = PlanNode::Do(Vec::new());
        Ok(())
    }

    /// Returns the reason for which a step cannot run, if there is one.
    fn reason(&self, plan: &Plan) -> Option<String> {
        let artifact = match &plan.node {
            PlanNode::Put(put) => return Some(would_put(put)),
            PlanNode::Get(get) => {
                let by = get.version_from.as_ref();
                let is_left_out = by.is_some_and(|by| self.puts.contains(by));
                return is_left_out.then(|| "would get what that put makes".to_owned());
            }
            PlanNode::Task(task) => needs(task).find(|name| self.missing.contains(name)),
            PlanNode::LoadVar(load) => self.missing_file(&load.file),
            PlanNode::SetPipeline(set) => {
                let mut files = std::iter::once(&set.file).chain(&set.var_files);
                files.find_map(|file| self.missing_file(file))
            }
            _ => return None,
        };
        let of_artifact = artifact.map(|name| format!("needs `{name}`, which is not there"));
        of_artifact.or_else(|| self.unset_in(&plan.node))
    }

    fn missing_file(&self, file: &str) -> Option<String> {
        Some(artifact_of(file)).filter(|name| self.missing.contains(name))
    }

    fn unset_in(&self, node: &PlanNode) -> Option<String> {
        if self.unset.is_empty() {
            return None;
        }
        let names = airside_vars::names_in(&serde_json::to_value(node).ok()?);
        let references = names.iter().filter_map(|name| Reference::parse(name).ok());
        let mut local = references.filter(|reference| reference.source == ".");
        let found = local.find(|reference| self.unset.contains(&reference.path))?;
        Some(format!("needs (({found})), which is not set"))
    }

    fn note_missing(&mut self, plan: &Plan) {
        match &plan.node {
            PlanNode::Put(_) => drop(self.puts.insert(plan.id.clone())),
            PlanNode::Get(get) => self.miss([get.name.clone()]),
            PlanNode::Task(task) => self.miss(made(task)),
            PlanNode::LoadVar(load) => drop(self.unset.insert(load.name.clone())),
            _ => {}
        }
    }

    /// An earlier artifact of the same name is shown to later steps as it is.
    fn miss(&mut self, artifacts: impl IntoIterator<Item = String>) {
        let made = &self.made;
        let artifacts = artifacts.into_iter();
        self.missing
            .extend(artifacts.filter(|name| !made.contains(name)));
    }

    fn note_made(&mut self, node: &PlanNode) {
        let artifacts: Vec<String> = match node {
            PlanNode::Get(get) => vec![get.name.clone()],
            PlanNode::ArtifactInput(input) => vec![input.name.clone()],
            PlanNode::Task(task) => made(task).collect(),
            PlanNode::LoadVar(load) => {
                self.unset.remove(&load.name);
                Vec::new()
            }
            _ => Vec::new(),
        };
        for artifact in artifacts {
            self.missing.remove(&artifact);
            self.made.insert(artifact);
        }
    }
}

fn would_put(put: &PutPlan) -> String {
    let with = match params(&put.params) {
        params if params.is_empty() => String::new(),
        params => format!(" with {params}"),
    };
    format!("would put `{}` ({}){with}", put.resource, put.type_)
}

/// Variables in them are not filled in yet, so no secret shows.
fn params(params: &Map<String, Value>) -> String {
    if params.is_empty() {
        return String::new();
    }
    let text = Value::Object(params.clone()).to_string();
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    text.chars().take(MAX_SHOWN).chain("…".chars()).collect()
}

/// The artifacts that a task cannot do without, as far as the plan says.
fn needs(task: &TaskPlan) -> impl Iterator<Item = String> {
    let inputs = task.config.iter().flat_map(|config| &config.inputs);
    let needed = inputs.filter(|input| !input.optional);
    let mapped = needed.map(|input| mapped(&task.input_mapping, &input.name));
    let own = [artifact_of(&task.config_path), task.image.clone()];
    let own = own.into_iter().filter(|name| !name.is_empty());
    mapped.chain(own)
}

/// The artifacts that a task makes, as far as the plan says.
fn made(task: &TaskPlan) -> impl Iterator<Item = String> {
    let outputs = task.config.iter().flat_map(|config| &config.outputs);
    outputs.map(|output| mapped(&task.output_mapping, &output.name))
}

fn mapped(mapping: &std::collections::BTreeMap<String, String>, name: &str) -> String {
    mapping.get(name).map_or(name, String::as_str).to_owned()
}

/// The first folder of a path is the artifact that the file is in.
fn artifact_of(file: &str) -> String {
    file.split('/').next().unwrap_or_default().to_owned()
}

fn name(node: &PlanNode) -> &str {
    match node {
        PlanNode::Put(put) => &put.name,
        PlanNode::Get(get) => &get.name,
        PlanNode::Task(task) => &task.name,
        PlanNode::LoadVar(load) => &load.name,
        PlanNode::SetPipeline(set) => &set.name,
        _ => "",
    }
}

#[cfg(test)]
mod tests;
