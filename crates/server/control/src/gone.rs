//! Objects that are gone: what becomes of the pipelines that they set.
//!
//! There are no finalizers. The store remembers which object a pipeline came from; a list that
//! worked and does not have it says that it is gone. If the namespace or the definition is gone
//! with it, nothing is archived: the pipelines go on, set by the server.

use std::{collections::HashSet, time::Duration};

use airside_control_objects::{ClusterPipeline, ClusterPipelineSpec, GROUP};
use airside_model::{PipelineId, chain, deadline_after};
use airside_store::{DeletionPolicy, PipelineObject};
use kube::{
    ResourceExt,
    api::{ListParams, ObjectMeta, PostParams},
};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    Control,
    judge::{counting, find_live},
    link::{TeamLink, delete, in_time},
    preflight::may,
    team::{PassError, TeamParts, TeamState},
};

/// Time for which an object of a server is missing before its deletion policy is followed.
pub const DELETION_GRACE: Duration = Duration::from_secs(60);

/// Meaning of an object's absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    Deleted,
    /// The namespace or the definition is gone or going.
    Orphaned,
    /// The request was forbidden: by a policy, or because the account lacks the right.
    Forbidden,
    /// It cannot be found out now.
    Unknown,
}

/// Follows the deletion policies of objects that are gone.
pub(crate) async fn pass(team: &TeamParts, state: &mut TeamState) -> Result<(), PassError> {
    let (cluster, namespace) = (&team.link.cluster, &team.link.team.namespace);
    let rows = team.store.pipeline_objects(cluster, namespace).await?;
    let objects = team.link.seen.pipelines.state();
    let there: HashSet<String> = objects.iter().filter_map(|object| object.uid()).collect();
    state.missing.retain(|id, _| {
        rows.iter()
            .any(|(row, object)| row == id && !there.contains(&object.uid))
    });
    let now = Instant::now();
    let mut due = Vec::new();
    for (id, row) in rows.iter().filter(|(_, row)| !there.contains(&row.uid)) {
        let since = *state.missing.entry(*id).or_insert(now);
        if deadline_after(since, team.parts.deletion_grace) <= now {
            due.push((*id, row));
        }
    }
    if due.is_empty() {
        return Ok(());
    }
    let absence = absence(&team.link).await;
    for (id, row) in due {
        match absence {
            Absence::Deleted if !is_gone(team, id, row).await? => {
                state.missing.insert(id, now);
                continue;
            }
            Absence::Deleted => follow_policy(team, id, row).await?,
            Absence::Orphaned => {
                warn!(
                    cluster, namespace, object = row.name, pipeline = %id,
                    "object of a pipeline gone with its namespace or definition; the pipeline goes on"
                );
                team.store.release_pipeline(id).await?;
                team.metrics.control_orphaned();
            }
            Absence::Unknown | Absence::Forbidden => {
                state.missing.insert(id, now);
                continue;
            }
        }
        state.missing.remove(&id);
    }
    Ok(())
}

/// Asks the API server itself, since a watch may be behind: an object that is there under its name,
/// or another one that sets the pipeline, is not gone. An answer that fails says nothing.
async fn is_gone(
    team: &TeamParts,
    id: PipelineId,
    row: &PipelineObject,
) -> Result<bool, PassError> {
    let live = match find_live(&team.link, &row.name).await {
        Ok(live) => live,
        Err(error) => {
            warn!(
                cluster = team.link.cluster, object = row.name, error = %chain(&error),
                "object of a pipeline not looked for; will retry"
            );
            return Ok(false);
        }
    };
    if live.as_ref().and_then(ResourceExt::uid).as_deref() == Some(&row.uid) {
        return Ok(false);
    }
    let Some(pipeline) = team.store.pipeline_summary_by_id(id).await? else {
        return Ok(true);
    };
    let seen = team.link.seen.pipelines.state();
    let objects = live.iter().chain(seen.iter().map(|object| &**object));
    let vars = pipeline.instance_vars.as_map();
    let setter = counting(objects, &pipeline.name, vars);
    Ok(!setter.is_some_and(ClusterPipeline::sets_pipeline))
}

async fn follow_policy(
    team: &TeamParts,
    id: PipelineId,
    row: &PipelineObject,
) -> Result<(), PassError> {
    info!(
        team = team.link.team.team, object = row.name, pipeline = %id,
        policy = row.deletion_policy.as_str(), "object of a pipeline deleted"
    );
    match row.deletion_policy {
        DeletionPolicy::Archive => {
            team.store.archive_pipeline(id).await?;
            team.store.release_pipeline(id).await?;
        }
        DeletionPolicy::Destroy => team.store.destroy_pipeline(id).await?,
        DeletionPolicy::Keep => {
            team.store.release_pipeline(id).await?;
        }
    }
    Ok(())
}

/// Finds out by a dry run whether objects can still be created in the namespace.
async fn absence(link: &TeamLink) -> Absence {
    let mut probe = ClusterPipeline::new("airside-probe", ClusterPipelineSpec::default());
    probe.metadata = ObjectMeta {
        generate_name: Some("airside-probe-".to_owned()),
        ..ObjectMeta::default()
    };
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match in_time(link.pipelines.create(&how, &probe)).await {
        Ok(_) => Absence::Deleted,
        Err(error) => {
            let crate::link::RequestError::Api(source) = &error else {
                return Absence::Unknown;
            };
            let absence = match absence_of(source) {
                // A policy that refuses proves that the namespace is there.
                Absence::Forbidden => match may(link, GROUP, "pipelines", "create").await {
                    Some(true) => Absence::Deleted,
                    _ => Absence::Unknown,
                },
                other => other,
            };
            if absence == Absence::Unknown {
                warn!(cluster = link.cluster, error = %chain(&error), "fate of a namespace not found out");
            }
            absence
        }
    }
}

/// Reads the answer to the dry run.
fn absence_of(error: &kube::Error) -> Absence {
    let kube::Error::Api(status) = error else {
        return Absence::Unknown;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    if status.code == 404 || causes.any(|cause| cause.reason == "NamespaceTerminating") {
        return Absence::Orphaned;
    }
    match status.code {
        400 | 409 | 422 => Absence::Deleted,
        403 => Absence::Forbidden,
        _ => Absence::Unknown,
    }
}

/// Lets go of the pipelines whose objects are in places that the control file does not have any
/// more: they go on, set by the server.
pub(crate) async fn release_strangers(control: &Control) {
    let places = control.places();
    let store = control.store();
    let known = match store.places_of_pipeline_objects().await {
        Ok(known) => known,
        Err(error) => {
            warn!(error = %chain(&error), "places of objects not read");
            return;
        }
    };
    for (cluster, namespace) in known {
        if places.contains(&(cluster.clone(), namespace.clone())) {
            continue;
        }
        let rows = match store.pipeline_objects(&cluster, &namespace).await {
            Ok(rows) => rows,
            Err(error) => {
                warn!(error = %chain(&error), "objects of a namespace not read");
                continue;
            }
        };
        warn!(
            cluster,
            namespace,
            pipelines = rows.len(),
            "namespace taken out of the control file; its pipelines go on, set by the server"
        );
        for (id, _) in rows {
            if let Err(error) = store.release_pipeline(id).await {
                warn!(pipeline = %id, error = %chain(&error), "pipeline not released");
            }
            control.metrics().control_orphaned();
        }
    }
}

/// Removes the objects that were made for a team from a namespace that the control file does not
/// have any more, as far as the cluster still lets us.
pub(crate) async fn leave(control: &Control, link: &TeamLink) {
    let shown = ListParams::default();
    let jobs = in_time(link.jobs.list(&shown)).await;
    for job in jobs.into_iter().flatten() {
        remove(&link.jobs, &job.name_any(), job.uid()).await;
    }
    let builds = in_time(link.builds.list(&shown)).await;
    for build in builds
        .into_iter()
        .flatten()
        .filter(|one| one.spec.build.is_some())
    {
        remove(&link.builds, &build.name_any(), build.uid()).await;
    }
    let pipelines = in_time(link.pipelines.list(&shown)).await;
    for pipeline in pipelines.into_iter().flatten().filter(is_ours) {
        remove(&link.pipelines, &pipeline.name_any(), pipeline.uid()).await;
    }
    info!(
        cluster = link.cluster,
        namespace = link.team.namespace,
        "namespace left"
    );
    control.metrics().control_written("leave");
}

async fn remove<K>(api: &kube::Api<K>, name: &str, uid: Option<String>)
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    if let Err(error) = delete(api, name, &uid.unwrap_or_default(), None).await {
        warn!(object = name, error = %chain(&error), "object not removed");
    }
}

/// Returns true if an object only shows a pipeline that the server sets.
pub(crate) fn is_ours(object: &ClusterPipeline) -> bool {
    let set_by = object.status.as_ref().and_then(|status| status.set_by);
    !object.sets_pipeline() && set_by == Some(airside_control_objects::SetBy::Server)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(code: u16, details: Value) -> kube::Error {
        let value = json!({"status": "Failure", "code": code, "message": "no", "details": details});
        let status: kube::core::Status = serde_json::from_value(value).unwrap();
        kube::Error::Api(Box::new(status))
    }

    #[test]
    fn nothing_is_archived_with_its_namespace() {
        let terminating =
            json!({"causes": [{"reason": "NamespaceTerminating", "message": "m", "field": ""}]});
        for (code, details, expected) in [
            (404, json!({}), Absence::Orphaned),
            (403, terminating, Absence::Orphaned),
            (403, json!({}), Absence::Forbidden),
            (422, json!({}), Absence::Deleted),
            (401, json!({}), Absence::Unknown),
            (429, json!({}), Absence::Unknown),
            (500, json!({}), Absence::Unknown),
        ] {
            assert_eq!(absence_of(&answer(code, details)), expected, "{code}");
        }
    }
}
