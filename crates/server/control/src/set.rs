//! Pipelines in: objects with a configuration set pipelines.
//!
//! An object is compared with the row of what was acted on last; if uid and content are the same,
//! nothing is done. A mistake of its author is not tried again before the object changes.

use std::{collections::HashMap, time::Duration};

use airside_control_objects::{
    ClusterPipeline, MAX_CONFIG_BYTES, ObjectDeletionPolicy, SetBy, conditions::PipelineReadiness,
    names,
};
use airside_model::{TeamId, chain, deadline_after, facts::SetThrough};
use airside_setting::{
    ReadPipelineError, SetPipeline, SetPipelineError, check_name, read_pipeline,
};
use airside_store::{DeletionPolicy, InstanceVars, PipelineHead, PipelineObject, Store};
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    judge::rank,
    link::{RequestError, TeamLink, write_status},
    team::{PassError, SetAttempt, TeamParts, TeamState},
    urls,
};

/// First pause before something is tried again that may go well without a change of the object;
/// doubled each time.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// Pause before the cluster is asked again about a pipeline that it refused: policies change.
const REFUSED_RETRY: Duration = Duration::from_secs(60);

/// Sets the pipelines of all objects that changed, and writes their statuses.
pub(crate) async fn pass(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
) -> Result<(), PassError> {
    let mut objects = team.link.seen.pipelines.state();
    objects.retain(|object| object.metadata.deletion_timestamp.is_none());
    objects.sort_by_key(|object| rank(object));
    let rows = rows(team).await?;
    // The first object about a pipeline counts.
    let mut first: HashMap<(String, String), String> = HashMap::new();
    for object in &objects {
        if !object.sets_pipeline() {
            mark_unreported(state, object);
            continue;
        }
        let key = (
            object.pipeline_name().to_owned(),
            vars_of(object).to_string(),
        );
        let older = first.get(&key).cloned();
        if older.is_none() {
            first.insert(key, object.name_any());
        }
        match look(team, state, id, object, &rows, older).await {
            Err(PassError::Request(error)) => put_off(state, object, &error),
            looked => looked?,
        }
    }
    Ok(())
}

/// Has an object looked at again later whose status could not be written. Other objects of the
/// team do not wait for that.
fn put_off(state: &mut TeamState, object: &ClusterPipeline, error: &RequestError) {
    warn!(
        object = object.name_any(), error = %chain(error),
        "status of a pipeline's object not written; will retry"
    );
    let uid = object.uid().unwrap_or_default();
    if let Some(attempt) = state.attempts.get_mut(&uid) {
        attempt.retry = Some(deadline_after(Instant::now(), MAX_RETRY));
    }
}

/// Marks the lists, with which statuses of such objects are written, if the object has none of this
/// generation.
fn mark_unreported(state: &mut TeamState, object: &ClusterPipeline) {
    let uid = object.uid().unwrap_or_default();
    let seen = serde_json::to_value(&object.status).unwrap_or_default();
    let reported = state.last_status(&uid, &seen)["observedGeneration"].as_i64();
    if reported != object.metadata.generation && !state.deleted.contains(&uid) {
        state.marks.mark_lists(Instant::now());
    }
}

/// Returns the rows of what was acted on last, by the objects' uids.
async fn rows(team: &TeamParts) -> Result<HashMap<String, PipelineObject>, PassError> {
    let (cluster, namespace) = (&team.link.cluster, &team.link.team.namespace);
    let rows = team.store.pipeline_objects(cluster, namespace).await?;
    let by_uid = rows.into_iter().map(|(_, row)| (row.uid.clone(), row));
    Ok(by_uid.collect())
}

/// Looks at one object that has a configuration.
async fn look(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    object: &ClusterPipeline,
    rows: &HashMap<String, PipelineObject>,
    older: Option<String>,
) -> Result<(), PassError> {
    let (uid, generation) = (object.uid().unwrap_or_default(), generation(object));
    let before = state.attempts.get(&uid);
    let is_due = |attempt: &SetAttempt| {
        attempt.generation != generation
            || attempt.retry.is_some_and(|at| at <= Instant::now())
            // A duplicate counts as soon as the older one is gone.
            || matches!(attempt.readiness, PipelineReadiness::Duplicate(_)) != older.is_some()
            || matches!(attempt.readiness, PipelineReadiness::Set) && !rows.contains_key(&uid)
    };
    if before.is_some_and(|attempt| !is_due(attempt)) {
        return Ok(());
    }
    let failures = before.map_or(0, |attempt| attempt.failures);
    let readiness = match older {
        Some(older) => PipelineReadiness::Duplicate(format!(
            "pipeline.ci.airside.dev/{older} is older and sets this pipeline"
        )),
        None => {
            let desired = stored_object(&team.store, &team.link, object);
            match rows.get(&uid) {
                Some(row) if row.hash == desired.hash && row.generation == generation => {
                    PipelineReadiness::Set
                }
                _ => set(team, id, object, &desired).await?,
            }
        }
    };
    let (retry, failures) = match &readiness {
        PipelineReadiness::Waiting(_) => {
            let pause = FIRST_RETRY * 2u32.pow(failures.min(5));
            let retry = deadline_after(Instant::now(), pause.min(MAX_RETRY));
            (Some(retry), failures + 1)
        }
        PipelineReadiness::Refused(_) => (Some(Instant::now() + REFUSED_RETRY), 0),
        _ => (None, 0),
    };
    let attempt = SetAttempt {
        generation,
        readiness,
        retry,
        failures,
    };
    state.attempts.insert(uid, attempt.clone());
    let head = team
        .store
        .pipeline_head(id, object.pipeline_name(), &vars_of(object))
        .await?;
    report(team, state, object, &attempt.readiness, head.as_ref()).await?;
    Ok(())
}

/// Sets the pipeline of an object. Only a failure of the store is an error.
async fn set(
    team: &TeamParts,
    id: TeamId,
    object: &ClusterPipeline,
    desired: &PipelineObject,
) -> Result<PipelineReadiness, PassError> {
    let name = object.pipeline_name();
    if let Err(words) = check_name(name, "pipeline") {
        return Ok(PipelineReadiness::Invalid(words));
    }
    let text = match text_of(object) {
        Ok(text) => text,
        Err(readiness) => return Ok(readiness),
    };
    let vars = vars_of(object);
    let given = vec![vars.as_map().clone(), object.spec.vars.clone()];
    let loaded = match read_pipeline(text, given).await {
        Ok(loaded) => loaded,
        Err(ReadPipelineError::Invalid(mistakes)) => {
            let mistakes: Vec<&str> = mistakes.iter().map(|one| one.trim_end()).collect();
            return Ok(PipelineReadiness::Invalid(mistakes.join("\n")));
        }
        Err(ReadPipelineError::Unfilled(words)) => return Ok(PipelineReadiness::Invalid(words)),
        Err(error @ ReadPipelineError::Interrupted(_)) => {
            return Ok(PipelineReadiness::Invalid(chain(&error)));
        }
    };
    let head = team.store.pipeline_head(id, name, &vars).await?;
    let is_adopted = head.is_some_and(|head| head.object.is_none() && !head.archived);
    let by = format!("kubernetes:{}/{}", desired.namespace, desired.name);
    let saved = team.parts.setter.set(SetPipeline {
        team: id,
        team_name: &team.link.team.team,
        name,
        instance_vars: &vars,
        config: &loaded.config,
        through: SetThrough::Object,
        by: &by,
        expected_version: None,
        parent: None,
        object: Some(desired),
    });
    match saved.await {
        Ok(saved) => {
            info!(
                team = team.link.team.team,
                pipeline = name,
                object = desired.name,
                created = saved.created,
                "pipeline set by its object"
            );
            if is_adopted {
                let note = "the object sets the pipeline from now on, which fly had set";
                team.link.post_event(object, "Adopted", note).await;
            }
            Ok(PipelineReadiness::Set)
        }
        Err(SetPipelineError::Refused(words)) => Ok(PipelineReadiness::Refused(words)),
        Err(error @ SetPipelineError::Unavailable { .. }) => {
            Ok(PipelineReadiness::Waiting(chain(&error)))
        }
        Err(error @ SetPipelineError::NotJson) => Ok(PipelineReadiness::Invalid(chain(&error))),
        Err(SetPipelineError::Store(error @ airside_store::Error::Quota(_))) => {
            Ok(PipelineReadiness::Refused(chain(&error)))
        }
        Err(SetPipelineError::Store(error)) => {
            warn!(
                team = team.link.team.team, pipeline = name, error = %chain(&error),
                "pipeline not set by its object; it is tried again"
            );
            Ok(PipelineReadiness::Waiting(
                "the server could not save the pipeline; it is tried again".to_owned(),
            ))
        }
    }
}

/// Returns the configuration of an object as text, or why it has none.
fn text_of(object: &ClusterPipeline) -> Result<String, PipelineReadiness> {
    let text = match (&object.spec.text, &object.spec.config) {
        (Some(text), _) => text.clone(),
        (None, Some(config)) => Value::Object(config.clone()).to_string(),
        (None, None) => {
            return Err(PipelineReadiness::Invalid("there is no config".to_owned()));
        }
    };
    if text.len() > MAX_CONFIG_BYTES {
        return Err(PipelineReadiness::TooLarge(format!(
            "the configuration has {} bytes; an object may hold 1 MiB",
            text.len()
        )));
    }
    Ok(text)
}

/// Writes the status of an object if it says something else than before; returns whether it did.
pub(crate) async fn report(
    team: &TeamParts,
    state: &mut TeamState,
    object: &ClusterPipeline,
    readiness: &PipelineReadiness,
    head: Option<&PipelineHead>,
) -> Result<bool, PassError> {
    let summary = match head {
        Some(head) => team.store.pipeline_summary_by_id(head.id).await?,
        None => None,
    };
    let uid = object.uid().unwrap_or_default();
    let seen = serde_json::to_value(&object.status).unwrap_or_default();
    let last = state.last_status(&uid, &seen);
    let before: Vec<_> = serde_json::from_value(last["conditions"].clone()).unwrap_or_default();
    let generation = object.metadata.generation;
    let is_owner = head
        .and_then(|head| head.object.as_ref())
        .is_some_and(|owner| owner.uid == uid);
    let jobs = match head {
        Some(head) => Some(team.store.jobs(head.id).await?.len()),
        None => None,
    };
    let set_by = match (is_owner, object.sets_pipeline(), head) {
        (true, _, _) => Some(SetBy::Object),
        (false, false, Some(_)) => Some(SetBy::Server),
        _ => None,
    };
    let mut status = json!({
        "observedGeneration": generation,
        "conditions": readiness.conditions(&before, generation, crate::now()),
    });
    let mut note = |key: &str, value: Value| {
        status[key] = value;
    };
    if let Some(set_by) = set_by {
        note("setBy", json!(set_by));
    }
    if let (Some(head), Some(summary)) = (head, summary) {
        note("configVersion", json!(head.config_version));
        note("paused", json!(summary.paused));
        note("jobs", json!(jobs));
        let url = urls::pipeline(&team.parts.external_url, &summary);
        note("url", json!(url));
    }
    let Some(write) = state.status_write(&uid, &seen, status) else {
        return Ok(false);
    };
    let name = object.name_any();
    let written = write_status(
        &team.link.pipelines,
        &name,
        &uid,
        &write.before,
        &write.status,
    );
    match written.await {
        Ok(()) => {
            team.metrics.control_written("pipeline");
            state.note_written(&uid, write.status);
            Ok(true)
        }
        // It is gone or another one: the next look sees that.
        Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Returns the instance vars of an object.
pub(crate) fn vars_of(object: &ClusterPipeline) -> InstanceVars {
    InstanceVars::new(object.spec.instance_vars.clone())
}

fn generation(object: &ClusterPipeline) -> i64 {
    object.metadata.generation.unwrap_or_default()
}

/// Returns an object as the store remembers it.
pub(crate) fn stored_object(
    store: &Store,
    link: &TeamLink,
    object: &ClusterPipeline,
) -> PipelineObject {
    let spec = &object.spec;
    let content = names::sorted(&json!({
        "config": spec.config, "text": spec.text, "vars": spec.vars, "paused": spec.paused,
        "exposed": spec.exposed, "deletionPolicy": spec.deletion_policy,
    }));
    PipelineObject {
        cluster: link.cluster.clone(),
        namespace: link.team.namespace.clone(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        generation: generation(object),
        hash: store.object_hash(content.to_string().as_bytes()),
        deletion_policy: match spec.deletion_policy {
            ObjectDeletionPolicy::Archive => DeletionPolicy::Archive,
            ObjectDeletionPolicy::Destroy => DeletionPolicy::Destroy,
            ObjectDeletionPolicy::Keep => DeletionPolicy::Keep,
        },
        applied_paused: spec.paused,
        applied_exposed: spec.exposed,
    }
}
