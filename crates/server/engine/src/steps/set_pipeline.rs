//! `set_pipeline`: sets a pipeline from a file of the build.

use std::fmt::Write;

use airside_config::{Config, Loaded, api_errors, diff};
use airside_model::{
    TeamId,
    event::{Event, Source},
    plan::SetPipelinePlan,
};
use airside_store::{InstanceVars, Parent, Pipeline, SavePipeline};
use airside_vars::{Chain, Given, Lookup};
use serde_json::Value;

use crate::{Result, StepError, files, leaf::Leaf, outcome::Outcome, status::Status};

/// Key under which the log keeps the changes that are about to be saved.
const CHANGES: &str = "changes";
const SAVED: &str = "done\n";

pub(crate) async fn run(leaf: Leaf<'_>, plan: &SetPipelinePlan) -> Result<Status, StepError> {
    leaf.initialize().await?;
    let plan = filled(leaf, plan).await?;
    for (what, name) in [("pipeline", &plan.name), ("team", &plan.team)] {
        if name.contains('/') {
            let words = format!("ERROR: {what} name cannot contain '/'\n");
            return Ok(fail(leaf, &words).await?);
        }
    }
    let bytes = files::read(leaf, &plan.file).await;
    let bytes = bytes.map_err(|none| none.step_error(&plan.file))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    leaf.start().await?;
    let text = match with_vars(leaf, text, &plan).await {
        Ok(text) => text,
        Err(StepError::Users(words)) => {
            return Ok(fail(leaf, &format!("error parsing pipeline:\n{words}")).await?);
        }
        Err(other) => return Err(other),
    };
    // A long configuration takes a while to read.
    let loaded = airside_tasks::blocking("pipeline of a step", move || airside_config::load(&text));
    let loaded = match loaded.await? {
        Ok(loaded) => loaded,
        Err(problems) => {
            let lines = api_errors(&problems).into_iter();
            let lines: String = lines.map(|line| format!("- {line}\n")).collect();
            return Ok(fail(leaf, &format!("invalid pipeline:\n{lines}")).await?);
        }
    };
    for (number, warning) in loaded.warnings.iter().enumerate() {
        let line = format!("WARNING: {}\n", warning.message);
        leaf.print(&format!("warning {number}"), Source::Stderr, &line)
            .await?;
    }
    let team = team(leaf, &plan).await?;
    apply(leaf, &plan, team, loaded).await
}

/// Says what is wrong with the pipeline, which is a failure and no error.
async fn fail(leaf: Leaf<'_>, words: &str) -> Result<Status> {
    leaf.print("failure", Source::Stderr, words).await?;
    leaf.finish(Outcome::of(Status::Failed)).await
}

/// The plan with its variables filled in, and with `self` resolved. Names keep theirs.
async fn filled(leaf: Leaf<'_>, plan: &SetPipelinePlan) -> Result<SetPipelinePlan, String> {
    let build = leaf.interpreter.build;
    let mut value = serde_json::to_value(plan).map_err(|error| airside_model::chain(&error))?;
    value["name"] = Value::String(String::new());
    let mut filled: SetPipelinePlan = serde_json::from_value(leaf.fill(value).await?)
        .map_err(|error| airside_model::chain(&error))?;
    filled.name = plan.name.clone();
    if filled.name == "self" {
        filled.name = build.pipeline_name.clone().unwrap_or_default();
        filled.instance_vars = build.instance_vars.as_map().clone();
        filled.team = String::new();
    }
    Ok(filled)
}

/// Returns the file with all given variables put in; others stay, for the builds of the pipeline.
async fn with_vars(
    leaf: Leaf<'_>,
    text: String,
    plan: &SetPipelinePlan,
) -> Result<String, StepError> {
    let mut given = vec![Given(plan.instance_vars.clone()), Given(plan.vars.clone())];
    for file in &plan.var_files {
        let bytes = files::read(leaf, file).await;
        let bytes = bytes.map_err(|none| none.step_error(file))?;
        match parse(&String::from_utf8_lossy(&bytes)) {
            Ok(Value::Object(vars)) => given.push(Given(vars)),
            Ok(_) => return Err(format!("the var file {file} is not a map").into()),
            Err(words) => return Err(format!("the var file {file}: {words}").into()),
        }
    }
    if given.iter().all(|vars| vars.0.is_empty()) {
        return Ok(text);
    }
    let chain = Chain(given.iter().map(|vars| vars as &dyn Lookup).collect());
    let filled = parse(&text).and_then(|value| {
        airside_vars::interpolate(value, &chain).map_err(|error| airside_model::chain(&error))
    });
    Ok(filled?.to_string())
}

fn parse(text: &str) -> Result<Value, String> {
    airside_yaml::parse(text)
        .and_then(|node| node.to_json())
        .map_err(|error| airside_model::chain(&error))
}

/// Returns the team of the pipeline. Only the main team may set another's.
async fn team(leaf: Leaf<'_>, plan: &SetPipelinePlan) -> Result<TeamId, StepError> {
    let (store, build) = (&leaf.interpreter.engine.parts.store, leaf.interpreter.build);
    if plan.team.is_empty() {
        return Ok(build.team);
    }
    let Some(target) = store.team(&plan.team).await? else {
        return Err(format!("team {} not found", plan.team).into());
    };
    let own = store.team(&build.team_name).await?;
    let permitted = target.id == build.team || own.is_some_and(|team| team.admin);
    if !permitted {
        let main = airside_store::MAIN_TEAM;
        return Err(format!("only {main} team can set another team's pipeline").into());
    }
    Ok(target.id)
}

async fn apply(
    leaf: Leaf<'_>,
    plan: &SetPipelinePlan,
    team: TeamId,
    loaded: Loaded,
) -> Result<Status, StepError> {
    let interpreter = leaf.interpreter;
    let store = &interpreter.engine.parts.store;
    let instance_vars = InstanceVars::new(plan.instance_vars.clone());
    let existing = store
        .pipeline_instance(team, &plan.name, &instance_vars)
        .await?;
    let Some(job) = interpreter.build.job else {
        return Err("set_pipeline step not attached to a buildID"
            .to_owned()
            .into());
    };
    let build = interpreter.build.id;
    let parent = Parent { job, build };
    let changes = diff(&current(existing.as_ref()), &loaded.config);
    if changes.is_empty() && leaf.has_said(CHANGES) {
        // A server before this one saved them, and was killed before it could say so.
        leaf.print("done", Source::Stdout, SAVED).await?;
        return Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?);
    }
    if changes.is_empty() {
        let line = "no changes to apply.\n";
        leaf.print("no changes", Source::Stdout, line).await?;
        if let Some(pipeline) = &existing {
            store.set_pipeline_parent(pipeline.id, parent).await?;
        }
        say_changed(leaf, false).await?;
        return Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?);
    }
    let mut text = changes;
    let _ = writeln!(text, "setting pipeline: {}", reference(plan));
    leaf.print(CHANGES, Source::Stdout, &text).await?;
    say_changed(leaf, true).await?;
    let config = &loaded.config;
    let Ok(whole) = serde_json::to_value(config) else {
        let words = "the configuration cannot be stored: it is not JSON";
        return Err(words.to_owned().into());
    };
    let save = SavePipeline {
        team,
        name: plan.name.clone(),
        instance_vars,
        config: whole,
        jobs: config.job_rows(),
        resources: config.resource_rows(),
        expected_version: existing.map(|pipeline| pipeline.config_version),
    };
    match store.save_child_pipeline(save, parent).await {
        Ok(_) => leaf.print("done", Source::Stdout, SAVED).await?,
        Err(airside_store::Error::SetByNewerBuild) => {
            let warning = "\x1b[1;33mWARNING: the pipeline was not saved because it was already saved \
                           by a newer build\x1b[0m\n";
            leaf.print("warning", Source::Stderr, warning).await?;
        }
        Err(
            error @ (airside_store::Error::ConfigVersion { .. } | airside_store::Error::Quota(_)),
        ) => {
            return Err(airside_model::chain(&error).into());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?)
}

/// Returns the pipeline's configuration now; an archived or unreadable one is empty.
fn current(existing: Option<&Pipeline>) -> Config {
    let live = existing.filter(|pipeline| !pipeline.archived);
    live.and_then(|pipeline| serde_json::from_value(pipeline.config.clone()).ok())
        .unwrap_or_default()
}

async fn say_changed(leaf: Leaf<'_>, changed: bool) -> Result<()> {
    let origin = leaf.origin();
    leaf.say("changed", Event::SetPipelineChanged { origin, changed })
        .await
}

/// `name` or `name/key:value,…`, as `fly` writes it.
fn reference(plan: &SetPipelinePlan) -> String {
    if plan.instance_vars.is_empty() {
        return plan.name.clone();
    }
    let vars = airside_vars::InstanceVars(plan.instance_vars.clone());
    let vars = vars.shown(airside_yaml::is_text);
    format!("{}/{vars}", plan.name)
}
