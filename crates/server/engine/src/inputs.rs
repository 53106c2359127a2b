//! From a build that has its inputs to its plan.

use std::collections::BTreeMap;

use airside_config::Config;
use airside_model::{Plan, Version};

use crate::{Result, interpret::Interpreter};

/// The plan, or the words for why there can be none.
pub(crate) async fn plan(interpreter: &Interpreter<'_>) -> Result<Result<Plan, String>> {
    let (store, build) = (&interpreter.engine.parts.store, interpreter.build);
    let Some(pipeline) = (match build.pipeline {
        Some(id) => store.pipeline_by_id(id).await?,
        None => None,
    }) else {
        return Ok(Err("the build's pipeline is gone".to_owned()));
    };
    let config: Config = match serde_json::from_value(pipeline.config) {
        Ok(config) => config,
        Err(error) => {
            return Ok(Err(format!(
                "the stored configuration cannot be read: {error}"
            )));
        }
    };
    let name = build.job_name.as_deref().unwrap_or_default();
    let Some(job) = config.job(name) else {
        return Ok(Err(format!("the pipeline has no job `{name}` any more")));
    };
    let inputs = store.build_inputs(build.id).await?.into_iter();
    let versions: BTreeMap<String, Version> =
        inputs.map(|input| (input.name, input.version)).collect();
    Ok(airside_config::plan(job, &config, &versions).map_err(|error| error.to_string()))
}
