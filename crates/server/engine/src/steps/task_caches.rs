//! The folders that a task keeps between builds of its job. To the runtime a cache is an output,
//! and an input at the same path where there is one from before.

use airside_model::{TaskConfig, VolumeId, plan::TaskPlan};
use airside_orchestrator::{Artifact, StepOutput};
use airside_store::TaskCache;

use crate::{Result, leaf::Leaf};

/// Outputs of this name are caches. Names that people write cannot begin like that.
const MARK: &str = "\0cache ";

/// Returns the inputs and outputs of a task's caches. One-off builds have no job, and keep nothing.
pub(crate) async fn mounts(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
    place: impl Fn(&str) -> String,
) -> Result<(Vec<Artifact>, Vec<StepOutput>)> {
    let (mut found, mut kept) = (Vec::new(), Vec::new());
    let interpreter = leaf.interpreter;
    let Some(job) = interpreter.build.job else {
        return Ok((found, kept));
    };
    for cache in &config.caches {
        let path = place(&cache.path);
        let store = &interpreter.engine.parts.store;
        let volume = store
            .use_task_cache(interpreter.lease, job, &task.name, &cache.path)
            .await?;
        found.extend(volume.map(|volume| Artifact {
            volume,
            path: path.clone(),
        }));
        kept.push(StepOutput {
            name: format!("{MARK}{}", cache.path),
            path,
        });
    }
    Ok((found, kept))
}

pub(crate) fn is_cache(output: &str) -> bool {
    output.starts_with(MARK)
}

/// Keeps what the task left for the next build.
pub(crate) async fn keep(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
    outputs: &[(String, VolumeId)],
) -> Result<()> {
    let interpreter = leaf.interpreter;
    let Some(job) = interpreter.build.job else {
        return Ok(());
    };
    let caches: Vec<TaskCache<'_>> = outputs
        .iter()
        .filter_map(|(name, volume)| {
            let path = name.strip_prefix(MARK)?;
            let cache = config.caches.iter().find(|cache| cache.path == path)?;
            let ttl = airside_config::parse_duration(&cache.ttl).filter(|ttl| !ttl.is_zero());
            Some(TaskCache { path, volume, ttl })
        })
        .collect();
    let store = &interpreter.engine.parts.store;
    Ok(store
        .save_task_caches(interpreter.lease, job, &task.name, &caches)
        .await?)
}
