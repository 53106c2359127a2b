//! The cache of gets. The same version of the same resource, fetched in the same way, is fetched
//! once for a team; of equal gets at the same time one does the work and the others wait. Gets on
//! workers of one trust do not find what workers of another fetched: a machine that was taken over
//! can spoil only its own.

use std::{sync::Arc, time::Duration};

use airside_model::{Version, WorkerName, event::Source};
use airside_orchestrator::StepRequest;
use airside_runtime::Image;
use airside_store::{CacheOwner, ResourceCache};
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;
use tracing::{info, warn};

use crate::{Result, StepError, leaf::Leaf, outcome::Outcome, status::StopCause};

/// Key under which a get is remembered.
pub(crate) struct Key {
    identity: Value,
    name: String,
}

/// The right to fetch something while others wait.
pub(crate) struct Turn {
    _held: OwnedMutexGuard<()>,
}

impl Key {
    /// Returns the key of a get. None for what may change though nothing of its description does:
    /// then it is always fetched.
    pub(crate) fn of(leaf: Leaf<'_>, request: &StepRequest) -> Option<Self> {
        let parts = &leaf.interpreter.engine.parts;
        let trust = parts.orchestrator.trust_for(request);
        Some(Self::named(leaf, identity(request)?, trust.as_deref()))
    }

    /// The key of what was fetched on this worker, which may be another one than was to be
    /// expected.
    fn fetched_on(&self, leaf: Leaf<'_>, worker: &WorkerName) -> Self {
        let parts = &leaf.interpreter.engine.parts;
        let trust = parts.orchestrator.trust_of(worker);
        Self::named(leaf, self.identity.clone(), trust.as_deref())
    }

    fn named(leaf: Leaf<'_>, identity: Value, trust: Option<&str>) -> Self {
        let store = &leaf.interpreter.engine.parts.store;
        let name = store.resource_cache_key(&with_trust(&identity, trust));
        Self { identity, name }
    }
}

/// The whole of what a get is remembered by, always written the same way.
fn with_trust(identity: &Value, trust: Option<&str>) -> String {
    json!([trust, identity]).to_string()
}

/// An image by what it surely is; none of one that may change under its name.
pub(super) fn unchanging(image: &Image) -> Option<Value> {
    match image {
        Image::Shim => Some(Value::Null),
        // A volume never changes, and neither does what has a digest.
        Image::Volume { volume } => Some(json!({"volume": volume})),
        Image::Registry { reference, .. } if reference.contains("@sha256:") => {
            Some(json!({"image": reference}))
        }
        Image::Registry { .. } | Image::OciLayout { .. } | Image::Host => None,
    }
}

/// All that decides what a get fetches, always written the same way.
fn identity(request: &StepRequest) -> Option<Value> {
    let program = match unchanging(&request.image) {
        Some(program) => program,
        // The image that `mock` hands out is the operator's.
        None if request.run == airside_protocol::Executable::Shim => json!({"own": request.image}),
        None => return None,
    };
    let asked: Value = serde_json::from_str(request.stdin.as_deref()?).ok()?;
    let mut identity = json!({
        "program": program,
        "args": request.args,
        "privileged": request.privileged,
        "asked": asked,
    });
    identity.sort_all_objects();
    Some(identity)
}

/// Waits until no other step fetches that version.
pub(crate) async fn turn(
    leaf: Leaf<'_>,
    key: &Key,
    timeout: Option<Duration>,
) -> Result<Turn, StepError> {
    let interpreter = leaf.interpreter;
    let lock = interpreter
        .engine
        .parts
        .fetching
        .of((interpreter.build.team, key.name.clone()));
    if let Ok(held) = Arc::clone(&lock).try_lock_owned() {
        return Ok(Turn { _held: held });
    }
    say(leaf, "waiting", "waiting to acquire resource lock").await?;
    let time_is_up = async {
        match timeout {
            Some(timeout) => {
                interpreter.time_is_up(leaf.plan, timeout).await?.await;
                Ok(StopCause::TimedOut)
            }
            None => std::future::pending().await,
        }
    };
    let stop = &leaf.context.stop;
    let cause: Result<StopCause> = tokio::select! {
        held = lock.lock_owned() => return Ok(Turn { _held: held }),
        () = stop.token().cancelled() => Ok(stop.cause().unwrap_or(StopCause::Aborted)),
        up = time_is_up => up,
    };
    Err(StepError::Stopped(cause?))
}

/// Returns what an equal get fetched. From now on the build holds it.
pub(crate) async fn find(
    leaf: Leaf<'_>,
    key: &Key,
    owner: CacheOwner<'_>,
) -> Result<Option<ResourceCache>> {
    let interpreter = leaf.interpreter;
    let parts = &interpreter.engine.parts;
    let Some(found) = parts
        .store
        .use_resource_cache(interpreter.lease, &key.name, owner)
        .await?
    else {
        return Ok(None);
    };
    if !parts.orchestrator.has_volume(&found.volume) {
        warn!(volume = %found.volume, "resource cache lost from the disk; it is fetched again");
        parts.store.forget_resource_cache(&found.volume).await?;
        return Ok(None);
    }
    Ok(Some(found))
}

/// Says that nothing is fetched, and what that is: the type's program, which would have said it,
/// does not run.
pub(crate) async fn announce(leaf: Leaf<'_>, version: &Version) -> Result<()> {
    let mut text = info_line("found existing resource cache");
    for (key, value) in &version.0 {
        text += &format!("{key}: {value}\n");
    }
    leaf.print("cached", Source::Stderr, &text).await
}

/// Keeps what a get fetched on a worker for others to find.
pub(crate) async fn keep(
    leaf: Leaf<'_>,
    key: &Key,
    worker: &WorkerName,
    outcome: &Outcome,
    owner: CacheOwner<'_>,
) -> Result<()> {
    let interpreter = leaf.interpreter;
    let Some(volume) = outcome.artifacts.values().next() else {
        return Ok(());
    };
    let fetched = ResourceCache {
        volume: volume.clone(),
        metadata: outcome.metadata.clone(),
    };
    let key = key.fetched_on(leaf, worker);
    let store = &interpreter.engine.parts.store;
    let saved = store
        .save_resource_cache(interpreter.lease, &key.name, &fetched, owner)
        .await?;
    if !saved {
        let build = interpreter.build.id;
        info!(%build, step = %leaf.plan, %volume, "volume not kept as a resource cache");
    }
    Ok(())
}

/// Prints a line in Concourse's words and colour.
async fn say(leaf: Leaf<'_>, what: &str, words: &str) -> Result<()> {
    leaf.print(what, Source::Stderr, &info_line(words)).await
}

pub(crate) fn info_line(words: &str) -> String {
    format!("\x1b[1;36mINFO: {words}\x1b[0m\n\n")
}

#[cfg(test)]
mod tests;
