//! The lists of a team's pipelines and jobs: objects that are missing, and objects left over.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use airside_control_objects::{ClusterPipeline, conditions::PipelineReadiness, names};
use airside_model::{PipelineId, TeamId};
use airside_store::{JobsOf, PipelineSummary};
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
    statuses(team, state, id).await?;
    for pipeline in &pipelines {
        show(team, state, pipeline).await?;
        if Instant::now() >= until {
            // Objects of people do not wait for all of ours.
            state.marks.mark_lists(Instant::now());
            break;
        }
    }
    jobs(team, state, id, &pipelines, is_all).await
}

/// Writes the statuses of the pipelines' objects, and removes those that show nothing any more.
async fn statuses(team: &TeamParts, state: &mut TeamState, id: TeamId) -> Result<(), PassError> {
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
        set::report(team, state, &object, &readiness, head.as_ref()).await?;
    }
    Ok(())
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
async fn jobs(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    pipelines: &[PipelineSummary],
    is_all: bool,
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
    for object in seen {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let is_wanted = team.link.team.mirrors_jobs && desired.contains(&name);
        if !is_wanted && state.deleted.insert(uid.clone()) {
            delete(&team.link.jobs, &name, &uid, None).await?;
            team.metrics.control_written("job");
        }
    }
    for object in team.link.seen.builds.state() {
        let spec = &object.spec;
        let job = names::job_name(&spec.pipeline, &spec.instance_vars, &spec.job);
        let is_shown = spec.build.is_some();
        let is_wanted = desired.contains(&job) && (team.link.team.mirrors_builds || !is_shown);
        let uid = object.uid().unwrap_or_default();
        if is_shown && !is_wanted && state.deleted.insert(uid.clone()) {
            delete(&team.link.builds, &object.name_any(), &uid, None).await?;
            team.metrics.control_written("build");
        }
    }
    Ok(())
}
