//! Builds in: an object without a build asks for one, and `abort` stops one.
//!
//! The object's uid is a unique column, written in the transaction that makes the build: however
//! often this looks at an object, it gets one build.

use std::{sync::Arc, time::Duration};

use airside_config::JobOutline;
use airside_control_objects::{
    CREATOR_ANNOTATION, ClusterBuild, conditions::refused_build_conditions,
};
use airside_model::{BuildId, TeamId, chain, deadline_after};
use airside_store::{Build, InstanceVars, Job, RequestedBuild};
use kube::{
    ResourceExt as _,
    api::{ObjectMeta, PostParams},
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    link::{in_time, write_status},
    team::{PassError, TeamParts, TeamState},
};

/// Time for which a build may be asked for before its job is there: both may be applied together.
const JOB_WAIT: Duration = Duration::from_secs(30);
const JOB_RETRY: Duration = Duration::from_secs(1);
/// Pause before an object is acted on again whose status could not be written.
const REQUEST_RETRY: Duration = Duration::from_secs(10);
/// Interval at which the policy about creators is looked for.
const CREATOR_CHECK: Duration = Duration::from_secs(600);

/// Acts on all objects that ask for something.
pub(crate) async fn pass(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
) -> Result<(), PassError> {
    let now = Instant::now();
    state.request_retries.retain(|_, at| *at > now);
    mark_paused_jobs(team, state, id).await?;
    for object in team.link.seen.builds.state() {
        if object.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let uid = object.uid().unwrap_or_default();
        if asks_for_build(&object, state, &uid) {
            let asked = request(team, state, id, &object, &uid).await;
            settle(state, &object, &uid, asked)?;
        }
        if object.spec.abort && !is_complete(&object) && !state.aborted.contains(&uid) {
            abort(team, state, id, &object, uid).await?;
        }
    }
    Ok(())
}

/// A request about one object that failed is made again later, and holds up no other object.
fn settle(
    state: &mut TeamState,
    object: &ClusterBuild,
    uid: &str,
    asked: Result<(), PassError>,
) -> Result<(), PassError> {
    let Err(PassError::Request(error)) = asked else {
        return asked;
    };
    warn!(
        object = object.name_any(), error = %chain(&error),
        "object of a build not acted on; will retry"
    );
    let retry = deadline_after(Instant::now(), REQUEST_RETRY);
    state.request_retries.insert(uid.to_owned(), retry);
    Ok(())
}

/// Marks jobs whose objects ask for another pause than the one that was applied last.
async fn mark_paused_jobs(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
) -> Result<(), PassError> {
    for object in team.link.seen.jobs.state() {
        let uid = object.uid().unwrap_or_default();
        let Some(paused) = object.spec.paused else {
            continue;
        };
        let seen = serde_json::to_value(&object.status).unwrap_or_default();
        let applied = state.last_status(&uid, &seen)["appliedPaused"].as_bool();
        if applied == Some(paused) || state.request_retries.contains_key(&uid) {
            continue;
        }
        let (spec, retry) = (&object.spec, Instant::now() + JOB_WAIT);
        match find_job(team, id, &spec.pipeline, &spec.instance_vars, &spec.job).await? {
            Some(job) => state.marks.mark_job(job.id, Instant::now()),
            None => {
                state.request_retries.insert(uid, retry);
            }
        }
    }
    Ok(())
}

/// Returns true if the API server has the end of an object's build.
pub(crate) fn is_complete(object: &ClusterBuild) -> bool {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    let mut complete = conditions.filter(|one| one.type_ == "Complete" && one.status == "True");
    complete.next().is_some()
}

fn asks_for_build(object: &ClusterBuild, state: &TeamState, uid: &str) -> bool {
    let has_id = object
        .status
        .as_ref()
        .is_some_and(|status| status.id.is_some());
    let is_due = !state.request_retries.contains_key(uid);
    object.spec.build.is_none()
        && !has_id
        && !is_complete(object)
        && !state.requested.contains_key(uid)
        && is_due
}

async fn request(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    object: &Arc<ClusterBuild>,
    uid: &str,
) -> Result<(), PassError> {
    let spec = &object.spec;
    let found = find_job(team, id, &spec.pipeline, &spec.instance_vars, &spec.job).await?;
    let Some(job) = found else {
        let created = object.metadata.creation_timestamp.as_ref();
        let age = created.map_or(i64::MAX, |at| {
            crate::now().as_second().saturating_sub(at.0.as_second())
        });
        if age < JOB_WAIT.as_secs().cast_signed() {
            let retry = Instant::now() + JOB_RETRY;
            state.request_retries.insert(uid.to_owned(), retry);
            return Ok(());
        }
        let words = format!(
            "there is no job {} in a pipeline {} of this team",
            object.spec.job, object.spec.pipeline
        );
        return refuse(team, state, object, uid, "NotFound", &words).await;
    };
    if object.spec.abort {
        let words = "the object was created with abort: true";
        return refuse(team, state, object, uid, "Aborted", words).await;
    }
    let repeated = match &object.spec.rerun_of {
        None => None,
        Some(name) => match team.store.job_build(job.id, name).await? {
            Some(of) => Some(of),
            None => {
                let words = format!("job {} has no build {name}", job.name);
                return refuse(team, state, object, uid, "NotFound", &words).await;
            }
        },
    };
    if let Some(words) = forbidden(&job, repeated.as_ref()) {
        return refuse(team, state, object, uid, "Forbidden", &words).await;
    }
    let by = creator(team, state, object).await;
    let builds = &team.parts.builds;
    let requested = match &repeated {
        None => builds.trigger(job.id, &by, uid).await,
        Some(of) => builds.rerun(of, job.id, &by, uid).await,
    };
    let build = match requested {
        Ok(RequestedBuild::Created(build)) => {
            info!(build = %build.id, created_by = by, object = object.name_any(), "build created");
            build.id
        }
        Ok(RequestedBuild::Existing(build)) => build.id,
        Ok(RequestedBuild::Collected(_)) => {
            let words = "the build of this object was removed";
            return refuse(team, state, object, uid, "Removed", words).await;
        }
        Err(error @ airside_store::Error::RequestedOtherwise { .. }) => {
            return refuse(team, state, object, uid, "Invalid", &chain(&error)).await;
        }
        Err(error) => return Err(error.into()),
    };
    state.requested.insert(uid.to_owned(), build);
    state.marks.mark_job(job.id, Instant::now());
    Ok(())
}

/// Returns why a job gets no build by hand, if its configuration or the repeated build says so.
fn forbidden(job: &Job, repeated: Option<&Build>) -> Option<String> {
    // An outline that cannot be read forbids nothing, as for `fly`.
    let outline: JobOutline = serde_json::from_str(&job.outline).unwrap_or_default();
    match repeated {
        None => outline.trigger_refusal(&job.name),
        Some(build) => outline.rerun_refusal(&job.name, build.inputs_ready),
    }
}

/// Returns the job that an object names, if the team has it.
async fn find_job(
    team: &TeamParts,
    id: TeamId,
    pipeline: &str,
    vars: &Map<String, Value>,
    job: &str,
) -> Result<Option<Job>, PassError> {
    let vars = InstanceVars::new(vars.clone());
    let head = team.store.pipeline_head(id, pipeline, &vars).await?;
    match head.filter(|head| !head.archived) {
        Some(head) => Ok(team.store.job(head.id, job).await?),
        None => Ok(None),
    }
}

async fn abort(
    team: &TeamParts,
    state: &mut TeamState,
    id: TeamId,
    object: &ClusterBuild,
    uid: String,
) -> Result<(), PassError> {
    let Some(build) = build_of(team, state, id, object, &uid).await? else {
        return Ok(());
    };
    if team.parts.builds.abort(build.id).await {
        info!(build = %build.id, object = object.name_any(), "build aborted by its object");
        state.aborted.insert(uid);
    } else {
        state
            .request_retries
            .insert(uid, Instant::now() + JOB_RETRY);
    }
    Ok(())
}

/// Returns the build that an object is about, if it is one of the team's.
async fn build_of(
    team: &TeamParts,
    state: &TeamState,
    id: TeamId,
    object: &ClusterBuild,
    uid: &str,
) -> Result<Option<Build>, PassError> {
    if let Some(name) = &object.spec.build {
        let spec = &object.spec;
        let found = find_job(team, id, &spec.pipeline, &spec.instance_vars, &spec.job).await?;
        let Some(job) = found else {
            return Ok(None);
        };
        return Ok(team.store.job_build(job.id, name).await?);
    }
    let asked = match state.requested.get(uid) {
        Some(build) => Some(*build),
        None => team.store.requested_build(uid).await?,
    };
    let Some(build) = asked.filter(|build| *build != BuildId(0)) else {
        return Ok(None);
    };
    Ok(team.store.build(build).await?.filter(|one| one.team == id))
}

/// Ends an object for which there is no build.
async fn refuse(
    team: &TeamParts,
    state: &mut TeamState,
    object: &ClusterBuild,
    uid: &str,
    reason: &str,
    words: &str,
) -> Result<(), PassError> {
    let seen = serde_json::to_value(&object.status).unwrap_or_default();
    let generation = object.metadata.generation;
    let conditions = refused_build_conditions(reason, words, &[], generation, crate::now());
    let status = json!({ "conditions": conditions });
    let Some(write) = state.status_write(uid, &seen, status) else {
        return Ok(());
    };
    let name = object.name_any();
    write_status(&team.link.builds, &name, uid, &write.before, &write.status).await?;
    team.metrics.control_written("build");
    state.note_written(uid, write.status);
    // The watch is a little behind; the object is not looked at again before that.
    state
        .request_retries
        .insert(uid.to_owned(), Instant::now() + JOB_WAIT);
    Ok(())
}

/// Returns the user who created an object, if the cluster says so, else the namespace.
async fn creator(team: &TeamParts, state: &mut TeamState, object: &ClusterBuild) -> String {
    let noted = object.annotations().get(CREATOR_ANNOTATION);
    match noted {
        Some(user) if knows_creators(team, state).await => {
            let user: String = user.chars().filter(|c| !c.is_control()).take(200).collect();
            format!("kubernetes:{user}")
        }
        _ => format!("kubernetes:{}", team.link.team.namespace),
    }
}

/// Returns true if the cluster's own policy writes the annotation, so that no user can forge it: a
/// dry run of an object with another creator shows that.
async fn knows_creators(team: &TeamParts, state: &mut TeamState) -> bool {
    if let Some((at, knows)) = state.knows_creators
        && at.elapsed() < CREATOR_CHECK
    {
        return knows;
    }
    let forged = "airside:nobody";
    let mut probe = ClusterBuild::new(
        "airside-probe",
        airside_control_objects::ClusterBuildSpec {
            pipeline: "probe".to_owned(),
            job: "probe".to_owned(),
            ..Default::default()
        },
    );
    probe.metadata = ObjectMeta {
        generate_name: Some("airside-probe-".to_owned()),
        annotations: Some([(CREATOR_ANNOTATION.to_owned(), forged.to_owned())].into()),
        ..ObjectMeta::default()
    };
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let answer = in_time(team.link.builds.create(&how, &probe)).await;
    let knows = answer.is_ok_and(|one| {
        let noted = one.annotations().get(CREATOR_ANNOTATION);
        noted.is_some_and(|user| user != forged)
    });
    state.knows_creators = Some((Instant::now(), knows));
    knows
}

/// Returns the status of an object as JSON.
pub(crate) fn status_json(object: &ClusterBuild) -> Value {
    serde_json::to_value(&object.status).unwrap_or_default()
}
