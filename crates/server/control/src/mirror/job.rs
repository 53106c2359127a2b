//! One job and its builds.

use std::{collections::HashSet, sync::Arc, time::Duration};

use airside_control_objects::{ClusterBuild, ClusterJob, names};
use airside_model::{BuildId, BuildStatus, JobId, TeamId};
use airside_store::{Build, Job, JobOverview, JobsOf, Pausing, PipelineSummary};
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::desired;
use crate::{
    link::{create, delete, write_status},
    team::{PassError, TeamParts, TeamState},
    trigger::{is_complete, status_json},
};

/// Time for which an object that asked for a build stays after the build's end, at least.
const LINGER: Duration = Duration::from_secs(60);
/// Largest number of builds of a job that go on and have an object.
const MAX_UNFINISHED: i64 = 100;

/// Brings the objects of a job in line with the store.
pub(super) async fn pass(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    job: JobId,
) -> Result<(), PassError> {
    let overview = team.store.job_overviews(JobsOf::Job(job)).await?;
    let Some(overview) = overview.into_iter().next() else {
        return Ok(());
    };
    let found = team
        .store
        .pipeline_summary_by_id(overview.job.pipeline)
        .await?;
    let Some(summary) = found.filter(|one| one.team == id && !one.archived) else {
        return Ok(());
    };
    if team.link.team.mirrors_jobs {
        job_object(team, state, &summary, overview).await?;
    }
    builds(team, state, &summary, job).await
}

async fn job_object(
    team: &TeamParts,
    state: &mut TeamState,
    summary: &PipelineSummary,
    mut overview: JobOverview,
) -> Result<(), PassError> {
    let desired = desired::job(summary, &overview.job.name);
    let name = desired.name_any();
    let seen = find_job(team, &name);
    let (uid, seen_status, generation, paused) = match &seen {
        Some(seen)
            if seen.spec.job != desired.spec.job || seen.spec.pipeline != desired.spec.pipeline =>
        {
            warn!(object = name, "name of a job's object is taken");
            return Ok(());
        }
        Some(seen) => (
            seen.uid().unwrap_or_default(),
            serde_json::to_value(&seen.status).unwrap_or_default(),
            seen.metadata.generation,
            seen.spec.paused,
        ),
        None => match state.created_uid("job", &name) {
            Some(uid) => (uid.clone(), Value::Null, Some(1), None),
            None => {
                let created = create(&team.link.jobs, &desired).await?;
                team.metrics.control_written("job");
                let uid = created.uid().unwrap_or_default();
                state.note_created("job", &name, &uid);
                (uid, Value::Null, created.metadata.generation, None)
            }
        },
    };
    let before = state.last_status(&uid, &seen_status);
    let applied = before["appliedPaused"].as_bool();
    if let Some(paused) = paused.filter(|paused| Some(*paused) != applied) {
        apply_paused(team, &mut overview, &name, paused).await?;
    }
    let conditions = serde_json::from_value(before["conditions"].clone()).unwrap_or_default();
    let conditions: Vec<_> = conditions;
    let status = desired::job_status(&overview, paused, &conditions, generation, crate::now());
    write(team, state, "job", &name, &uid, &seen_status, json!(status)).await
}

/// A value of an object is applied when it changes; people win in between.
async fn apply_paused(
    team: &TeamParts,
    overview: &mut JobOverview,
    object: &str,
    paused: bool,
) -> Result<(), PassError> {
    let by = format!("kubernetes:{}/{object}", team.link.team.namespace);
    let pausing = if paused {
        Pausing::Pause { by: &by }
    } else {
        Pausing::Resume
    };
    team.store.set_job_paused(overview.job.id, pausing).await?;
    info!(
        job = overview.job.name,
        paused, object, "job paused or unpaused by its object"
    );
    overview.job.paused = paused;
    Ok(())
}

fn find_job(team: &TeamParts, name: &str) -> Option<Arc<ClusterJob>> {
    let key = kube::runtime::reflector::ObjectRef::new(name).within(&team.link.team.namespace);
    team.link.seen.jobs.get(&key)
}

/// Brings the objects of a job's builds in line with the store: those that go on, and the newest
/// that ended.
async fn builds(
    team: &TeamParts,
    state: &mut TeamState,
    summary: &PipelineSummary,
    job: JobId,
) -> Result<(), PassError> {
    let Some(row) = team.store.job_by_id(job).await? else {
        return Ok(());
    };
    let kept = i64::from(team.link.team.builds_kept);
    let newest = team.store.newest_builds(job, MAX_UNFINISHED, kept).await?;
    let vars = names::sorted(&Value::Object(summary.instance_vars.as_map().clone()));
    let mut objects = team.link.seen.builds.state();
    objects.retain(|object| {
        object.spec.job == row.name
            && object.spec.pipeline == summary.name
            && names::sorted(&Value::Object(object.spec.instance_vars.clone())) == vars
    });
    let mut used = HashSet::new();
    for build in &newest {
        let asked = objects.iter().find(|object| {
            object.spec.build.is_none() && build_id(state, object) == Some(build.id.0)
        });
        let object = match asked {
            Some(object) => Some(object.clone()),
            None if state.pruned.contains(&build.id.0) => None,
            None if team.link.team.mirrors_builds => {
                let desired = desired::build(summary, &row.name, build);
                shown(team, state, &objects, desired).await?
            }
            None => None,
        };
        if let Some(object) = object {
            used.insert(object.uid().unwrap_or_default());
            status(team, state, summary, &row.name, build, &object).await?;
        }
    }
    objects.retain(|object| !used.contains(&object.uid().unwrap_or_default()));
    for object in objects {
        leave(team, state, summary, &row, &object).await?;
    }
    Ok(())
}

/// Ends the object of a build that is not among the newest any more. One that asked for its build
/// gets the build's end first, and stays for a while: a person may wait for it.
async fn leave(
    team: &TeamParts,
    state: &mut TeamState,
    summary: &PipelineSummary,
    job: &Job,
    object: &ClusterBuild,
) -> Result<(), PassError> {
    let uid = object.uid().unwrap_or_default();
    if state.deleted.contains(&uid) {
        return Ok(());
    }
    if object.spec.build.is_none() {
        let Some(id) = build_id(state, object) else {
            return Ok(());
        };
        if !is_complete(object) {
            // A status may name any build; only those of this job are shown.
            let found = team.store.build(BuildId(id)).await?;
            if let Some(build) = found.filter(|build| build.job == Some(job.id)) {
                status(team, state, summary, &job.name, &build, object).await?;
            }
            state.marks.mark_job(job.id, Instant::now() + LINGER);
            return Ok(());
        }
        let completed = object
            .status
            .as_ref()
            .and_then(|one| one.completion_time.as_ref());
        let since = completed.map_or(i64::MAX, |at| {
            crate::now().as_second().saturating_sub(at.0.as_second())
        });
        if since < LINGER.as_secs().cast_signed() {
            state.marks.mark_job(job.id, Instant::now() + LINGER);
            return Ok(());
        }
    }
    delete(&team.link.builds, &object.name_any(), &uid, None).await?;
    team.metrics.control_written("build");
    state.deleted.insert(uid);
    Ok(())
}

/// Returns the id of the build of an object that asked for one.
fn build_id(state: &TeamState, object: &ClusterBuild) -> Option<i64> {
    let asked = state.requested.get(&object.uid()?);
    let written = object.status.as_ref().and_then(|status| status.id);
    asked.map(|id| id.0).or(written)
}

/// Returns the number of the objects of builds, with those that the watch does not have yet.
fn count_builds(team: &TeamParts, state: &TeamState) -> usize {
    let seen = &team.link.seen.builds;
    let is_unseen = |name: &&str| {
        let key = kube::runtime::reflector::ObjectRef::new(name);
        seen.get(&key.within(&team.link.team.namespace)).is_none()
    };
    let unseen = state.created_names("build").filter(is_unseen).count();
    seen.state().len() + unseen
}

/// Returns the object that shows a build; it is created if there is none and there is room.
async fn shown(
    team: &TeamParts,
    state: &mut TeamState,
    objects: &[Arc<ClusterBuild>],
    desired: ClusterBuild,
) -> Result<Option<Arc<ClusterBuild>>, PassError> {
    let name = desired.name_any();
    if let Some(seen) = objects.iter().find(|object| object.name_any() == name) {
        return Ok((seen.spec.build == desired.spec.build).then(|| seen.clone()));
    }
    if let Some(uid) = state.created_uid("build", &name) {
        let mut created = desired;
        created.metadata.uid = Some(uid.clone());
        created.metadata.generation = Some(1);
        return Ok(Some(Arc::new(created)));
    }
    let number = count_builds(team, state);
    if number >= team.link.team.objects_max as usize {
        if !state.is_full_told {
            warn!(
                namespace = team.link.team.namespace,
                objects_max = team.link.team.objects_max,
                "no further build gets an object: there are objects_max of them"
            );
        }
        state.is_full_told = true;
        return Ok(None);
    }
    state.is_full_told = false;
    let created = create(&team.link.builds, &desired).await?;
    team.metrics.control_written("build");
    state.note_created("build", &name, &created.uid().unwrap_or_default());
    Ok(Some(Arc::new(created)))
}

async fn status(
    team: &TeamParts,
    state: &mut TeamState,
    summary: &PipelineSummary,
    job: &str,
    build: &Build,
    object: &ClusterBuild,
) -> Result<(), PassError> {
    // A build that only waits is shown by its object; its status is worth a write once it starts.
    if build.status == BuildStatus::Pending && object.spec.build.is_some() {
        return Ok(());
    }
    let uid = object.uid().unwrap_or_default();
    let seen = status_json(object);
    let before = state.last_status(&uid, &seen);
    let conditions: Vec<_> =
        serde_json::from_value(before["conditions"].clone()).unwrap_or_default();
    let status = desired::build_status(
        &team.parts.external_url,
        summary,
        job,
        build,
        &conditions,
        object.metadata.generation,
        crate::now(),
    );
    let name = object.name_any();
    write(team, state, "build", &name, &uid, &seen, json!(status)).await
}

/// Writes a status if it says something else than what was written last.
async fn write(
    team: &TeamParts,
    state: &mut TeamState,
    kind: &'static str,
    name: &str,
    uid: &str,
    seen: &Value,
    status: Value,
) -> Result<(), PassError> {
    let Some(write) = state.status_write(uid, seen, status) else {
        return Ok(());
    };
    let written = if kind == "job" {
        write_status(&team.link.jobs, name, uid, &write.before, &write.status).await
    } else {
        write_status(&team.link.builds, name, uid, &write.before, &write.status).await
    };
    match written {
        Ok(()) => {
            team.metrics.control_written(kind);
            state.note_written(uid, write.status);
            Ok(())
        }
        // It is gone or another one: the next look sees that.
        Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
