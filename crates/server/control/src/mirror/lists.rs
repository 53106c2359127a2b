//! The lists of a team's pipelines and jobs: objects that are missing, and objects left over.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use airside_control_objects::{
    ClusterBuild, ClusterPipeline, conditions::PipelineReadiness, names,
};
use airside_model::{PipelineId, TeamId};
use airside_store::{JobsOf, PipelineSummary};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;
use tracing::warn;

use super::desired;
use crate::{
    gone::is_ours,
    judge::counting,
    link::{create, delete},
    set,
    team::{PassError, TeamParts, TeamState},
};

/// Time for which an object stays that got no build.
const REFUSAL_KEPT: Duration = Duration::from_secs(3600);

/// Compares all pipelines and the names of all jobs with the objects. With `is_all` each job is
/// looked at afterwards.
pub(super) async fn pass(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    is_all: bool,
    until: Instant,
) -> Result<(), PassError> {
    let mut pipelines = team.store.pipelines(Some(id)).await?;
    pipelines.retain(|pipeline| !pipeline.archived);
    // Objects of people do not wait for all of ours: what is left is done by the next pass.
    if !statuses(team, state, id, until).await? {
        put_off(state, is_all);
        return Ok(());
    }
    for pipeline in &pipelines {
        show(team, state, pipeline).await?;
        if Instant::now() >= until {
            put_off(state, false);
            break;
        }
    }
    mark_jobs(team, state, id, &pipelines, is_all, until).await
}

/// Has the lists looked at again by the next pass.
fn put_off(state: &mut TeamState, is_all: bool) {
    if is_all {
        state.marks.mark_all(Instant::now());
    } else {
        state.marks.mark_lists(Instant::now());
    }
}

/// Writes the statuses of the pipelines' objects, and removes those that show nothing any more.
/// Returns false if the time was over before all were written.
async fn statuses(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    until: Instant,
) -> Result<bool, PassError> {
    for object in team.link.seen.pipelines.state() {
        let uid = object.uid().unwrap_or_default();
        if object.metadata.deletion_timestamp.is_some() || state.deleted.contains(&uid) {
            continue;
        }
        let head = team
            .store
            .pipeline_head(id, object.pipeline_name(), &set::vars_of(&object))
            .await?;
        let head = head.filter(|head| !head.archived);
        let readiness = match state.attempts.get(&uid) {
            Some(attempt) => attempt.readiness.clone(),
            // It is set by the next look at objects.
            None if object.sets_pipeline() => continue,
            None if head.is_some() => PipelineReadiness::Set,
            None if is_ours(&object) => {
                remove(team, state, &object).await?;
                continue;
            }
            None => PipelineReadiness::Invalid(format!(
                "there is no pipeline {}; give config or text",
                object.pipeline_name()
            )),
        };
        let is_written = set::report(team, state, &object, &readiness, head.as_ref()).await?;
        if is_written && Instant::now() >= until {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes an object of ours as it was seen: if it got a configuration meanwhile, it stays.
async fn remove(
    team: &TeamParts,
    state: &mut TeamState,
    object: &Arc<ClusterPipeline>,
) -> Result<(), PassError> {
    let (uid, version) = (object.uid().unwrap_or_default(), object.resource_version());
    let name = object.name_any();
    delete(&team.link.pipelines, &name, &uid, version.as_deref()).await?;
    team.metrics.control_written("pipeline");
    state.deleted.insert(uid);
    Ok(())
}

/// Creates the object of a pipeline that has none.
async fn show(
    team: &TeamParts,
    state: &mut TeamState,
    pipeline: &PipelineSummary,
) -> Result<(), PassError> {
    let seen = team.link.seen.pipelines.state();
    let vars = pipeline.instance_vars.as_map();
    if counting(seen.iter().map(|one| &**one), &pipeline.name, vars).is_some() {
        return Ok(());
    }
    // Its object is gone, and its deletion policy is about to be followed.
    if state.missing.contains_key(&pipeline.id) {
        return Ok(());
    }
    let desired = desired::pipeline(pipeline);
    let name = desired.name_any();
    if state.created_uid("pipeline", &name).is_some() {
        return Ok(());
    }
    match create(&team.link.pipelines, &desired).await {
        Ok(created) => {
            team.metrics.control_written("pipeline");
            state.note_created("pipeline", &name, &created.uid().unwrap_or_default());
            Ok(())
        }
        // The watch is behind, or a policy refuses it; the pipeline does without an object.
        Err(error) if error.refusal().is_some() => {
            let reason = error.refusal();
            warn!(object = name, reason, "object of a pipeline not created");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Marks jobs whose objects are missing, and removes objects of jobs that are gone.
async fn mark_jobs(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    pipelines: &[PipelineSummary],
    is_all: bool,
    until: Instant,
) -> Result<(), PassError> {
    let by_id: HashMap<PipelineId, &PipelineSummary> =
        pipelines.iter().map(|one| (one.id, one)).collect();
    let seen = team.link.seen.jobs.state();
    let there: HashSet<String> = seen.iter().map(|one| one.name_any()).collect();
    let (mut desired, now) = (HashSet::new(), Instant::now());
    for overview in team.store.job_overviews(JobsOf::Team(id)).await? {
        let Some(pipeline) = by_id.get(&overview.job.pipeline) else {
            continue;
        };
        let vars = pipeline.instance_vars.as_map();
        let name = names::job_name(&pipeline.name, vars, &overview.job.name);
        if is_all || team.link.team.mirrors_jobs && !there.contains(&name) {
            state.marks.mark_job(overview.job.id, now);
        }
        desired.insert(name);
    }
    remove_leftovers(team, state, &desired, until).await
}

/// Removes objects of jobs and builds that show nothing any more.
async fn remove_leftovers(
    team: &TeamParts,
    state: &mut TeamState,
    desired: &HashSet<String>,
    until: Instant,
) -> Result<(), PassError> {
    for object in team.link.seen.jobs.state() {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let is_desired = team.link.team.mirrors_jobs && desired.contains(&name);
        if !is_desired && state.deleted.insert(uid.clone()) {
            delete(&team.link.jobs, &name, &uid, None).await?;
            team.metrics.control_written("job");
            if Instant::now() >= until {
                put_off(state, false);
                return Ok(());
            }
        }
    }
    for object in team.link.seen.builds.state() {
        let uid = object.uid().unwrap_or_default();
        let is_over = is_leftover(team, &object, desired) || is_old_refusal(&object, crate::now());
        if is_over && state.deleted.insert(uid.clone()) {
            delete(&team.link.builds, &object.name_any(), &uid, None).await?;
            team.metrics.control_written("build");
            if Instant::now() >= until {
                put_off(state, false);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns true if an object shows a build of a job that is gone, or of a team without objects of
/// builds.
fn is_leftover(team: &TeamParts, object: &ClusterBuild, desired: &HashSet<String>) -> bool {
    let spec = &object.spec;
    let job = names::job_name(&spec.pipeline, &spec.instance_vars, &spec.job);
    let is_desired = desired.contains(&job) && team.link.team.mirrors_builds;
    spec.build.is_some() && !is_desired
}

/// Returns true if an object asked for a build that it did not get, and everybody had time to read
/// why.
fn is_old_refusal(object: &ClusterBuild, now: Timestamp) -> bool {
    let Some(status) = &object.status else {
        return false;
    };
    let mut ended = status
        .conditions
        .iter()
        .filter(|one| one.type_ == "Complete");
    let is_refused = object.spec.build.is_none() && status.id.is_none();
    is_refused
        && ended.any(|one| {
            let age = now
                .as_second()
                .saturating_sub(one.last_transition_time.0.as_second());
            one.status == "True" && age > REFUSAL_KEPT.as_secs().cast_signed()
        })
}
