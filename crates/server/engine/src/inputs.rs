//! The plan of a build that has its inputs.

use std::collections::BTreeMap;

use airside_config::Config;
use airside_model::{Plan, Version, chain};

use crate::{Result, StepError, interpret::Interpreter};

/// Makes the plan of a build. A user's error says why there can be none.
pub(crate) async fn plan(interpreter: &Interpreter<'_>) -> Result<Plan, StepError> {
    let (store, build) = (&interpreter.engine.parts.store, interpreter.build);
    let Some(pipeline) = (match build.pipeline {
        Some(id) => store.pipeline_by_id(id).await?,
        None => None,
    }) else {
        return Err("the build's pipeline is gone".to_owned().into());
    };
    let config: Config = serde_json::from_value(pipeline.config)
        .map_err(|error| format!("the stored configuration cannot be read: {}", chain(&error)))?;
    let name = build.job_name.as_deref().unwrap_or_default();
    let Some(job) = config.job(name) else {
        return Err(format!("the pipeline has no job `{name}` any more").into());
    };
    let inputs = store.build_inputs(build.id).await?.into_iter();
    let versions: BTreeMap<String, Version> =
        inputs.map(|input| (input.name, input.version)).collect();
    Ok(airside_config::plan(job, &config, &versions).map_err(|error| chain(&error))?)
}
