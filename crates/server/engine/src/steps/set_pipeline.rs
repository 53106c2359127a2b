//! `set_pipeline`: sets a pipeline from a file of the build.

use std::fmt::Write;

use airside_config::{Config, Loaded, diff};
use airside_model::{
    TeamId,
    event::{Event, Source},
    facts::SetThrough,
    plan::SetPipelinePlan,
};
use airside_setting::{
    ReadPipelineError, SetPipeline, SetPipelineError, pipeline_reference, read_pipeline,
};
use airside_store::{Build, InstanceVars, Parent, Pipeline};
use serde_json::{Map, Value};

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
    let loaded = match read(leaf, text, &plan).await? {
        PipelineText::Pipeline(loaded) => *loaded,
        PipelineText::Mistakes(words) => return Ok(fail(leaf, &words).await?),
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

/// The content of a file that should be a pipeline.
enum PipelineText {
    Pipeline(Box<Loaded>),
    /// The file is not a pipeline, in words for the log.
    Mistakes(String),
}

/// Reads the pipeline with all given variables put in; others stay, for the builds of the pipeline.
async fn read(
    leaf: Leaf<'_>,
    text: String,
    plan: &SetPipelinePlan,
) -> Result<PipelineText, StepError> {
    let unparsed =
        |words: String| PipelineText::Mistakes(format!("error parsing pipeline:\n{words}"));
    let given = match given_vars(leaf, plan).await {
        Ok(given) => given,
        Err(StepError::Users(words)) => return Ok(unparsed(words)),
        Err(other) => return Err(other),
    };
    Ok(match read_pipeline(text, given).await {
        Ok(loaded) => PipelineText::Pipeline(Box::new(loaded)),
        Err(ReadPipelineError::Unfilled(words)) => unparsed(words),
        Err(ReadPipelineError::Invalid(errors)) => {
            let lines: String = errors.iter().map(|line| format!("- {line}\n")).collect();
            PipelineText::Mistakes(format!("invalid pipeline:\n{lines}"))
        }
        Err(ReadPipelineError::Interrupted(panicked)) => return Err(panicked.into()),
    })
}

/// Returns the maps of values that the step gives; the first that knows a variable wins.
async fn given_vars(
    leaf: Leaf<'_>,
    plan: &SetPipelinePlan,
) -> Result<Vec<Map<String, Value>>, StepError> {
    let mut given = vec![plan.instance_vars.clone(), plan.vars.clone()];
    for file in &plan.var_files {
        let bytes = files::read(leaf, file).await;
        let bytes = bytes.map_err(|none| none.step_error(file))?;
        match parse(&String::from_utf8_lossy(&bytes)) {
            Ok(Value::Object(vars)) => given.push(vars),
            Ok(_) => return Err(format!("the var file {file} is not a map").into()),
            Err(words) => return Err(format!("the var file {file}: {words}").into()),
        }
    }
    Ok(given)
}

fn parse(text: &str) -> Result<Value, String> {
    airside_yaml::parse(text)
        .and_then(|node| node.to_json())
        .map_err(|error| airside_model::chain(&error))
}

/// Returns the id and name of the pipeline's team. Only the main team may set another's.
async fn team(leaf: Leaf<'_>, plan: &SetPipelinePlan) -> Result<(TeamId, String), StepError> {
    let (store, build) = (&leaf.interpreter.engine.parts.store, leaf.interpreter.build);
    if plan.team.is_empty() {
        return Ok((build.team, build.team_name.clone()));
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
    Ok((target.id, target.name))
}

async fn apply(
    leaf: Leaf<'_>,
    plan: &SetPipelinePlan,
    (team, team_name): (TeamId, String),
    loaded: Loaded,
) -> Result<Status, StepError> {
    let interpreter = leaf.interpreter;
    let parts = &interpreter.engine.parts;
    let instance_vars = InstanceVars::new(plan.instance_vars.clone());
    let existing = parts
        .store
        .pipeline_instance(team, &plan.name, &instance_vars)
        .await?;
    let Some(job) = interpreter.build.job else {
        return Err("set_pipeline step not attached to a buildID"
            .to_owned()
            .into());
    };
    let parent = Parent {
        job,
        build: interpreter.build.id,
    };
    let by = setter_name(interpreter.build);
    let set = SetPipeline {
        team,
        team_name: &team_name,
        name: &plan.name,
        instance_vars: &instance_vars,
        config: &loaded.config,
        through: SetThrough::Step,
        by: &by,
        expected_version: existing.as_ref().map(|pipeline| pipeline.config_version),
        parent: Some(parent),
        object: None,
    };
    let changes = diff(&current(existing.as_ref()), &loaded.config);
    if !changes.is_empty() {
        return save(leaf, set, changes).await;
    }
    if leaf.has_said(CHANGES) {
        // A server before this one saved them, and was killed before it could say so.
        leaf.print("done", Source::Stdout, SAVED).await?;
        return Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?);
    }
    if let Err(error) = parts.pipelines.check_route(&set).await {
        return refused(leaf, error).await;
    }
    let line = "no changes to apply.\n";
    leaf.print("no changes", Source::Stdout, line).await?;
    if let Some(pipeline) = &existing {
        parts.store.set_pipeline_parent(pipeline.id, parent).await?;
    }
    say_changed(leaf, false).await?;
    Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?)
}

/// Sets the pipeline, if it may be set, after the log has what changes.
async fn save(leaf: Leaf<'_>, set: SetPipeline<'_>, changes: String) -> Result<Status, StepError> {
    let pipelines = &leaf.interpreter.engine.parts.pipelines;
    let prepared = match pipelines.prepare(&set).await {
        Ok(prepared) => prepared,
        Err(error) => return refused(leaf, error).await,
    };
    let mut text = changes;
    let reference = pipeline_reference(set.name, set.instance_vars);
    let _ = writeln!(text, "setting pipeline: {reference}");
    leaf.print(CHANGES, Source::Stdout, &text).await?;
    say_changed(leaf, true).await?;
    match pipelines.save(set, prepared).await {
        Ok(_) => leaf.print("done", Source::Stdout, SAVED).await?,
        Err(SetPipelineError::Store(airside_store::Error::SetByNewerBuild)) => {
            let warning = "\x1b[1;33mWARNING: the pipeline was not saved because it was already saved \
                           by a newer build\x1b[0m\n";
            leaf.print("warning", Source::Stderr, warning).await?;
        }
        Err(error) => return refused(leaf, error).await,
    }
    Ok(leaf.finish(Outcome::of(Status::Succeeded)).await?)
}

/// Ends the step whose pipeline is not set. A refusal is a failure, as a pipeline that makes no
/// sense is; a cluster that does not answer is an error, which a retry may overcome.
async fn refused(leaf: Leaf<'_>, error: SetPipelineError) -> Result<Status, StepError> {
    match error {
        SetPipelineError::Refused(words) => {
            Ok(fail(leaf, &format!("refused to set pipeline:\n{words}\n")).await?)
        }
        SetPipelineError::Store(
            error @ (airside_store::Error::ConfigVersion { .. } | airside_store::Error::Quota(_)),
        ) => Err(airside_model::chain(&error).into()),
        SetPipelineError::Store(error) => Err(error.into()),
        error @ (SetPipelineError::Unavailable { .. } | SetPipelineError::NotJson) => {
            Err(airside_model::chain(&error).into())
        }
    }
}

/// Returns the name by which policies know the build that sets a pipeline:
/// `build:team/pipeline/job #name`.
fn setter_name(build: &Build) -> String {
    let pipeline = build.pipeline_name.as_deref().unwrap_or_default();
    let job = build.job_name.as_deref().unwrap_or_default();
    format!("build:{}/{pipeline}/{job} #{}", build.team_name, build.name)
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
