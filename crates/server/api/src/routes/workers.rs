//! Placement targets: what they are, and what operators make of them.
//!
//! Workers are what the server is configured with; none of Concourse's own can join. What those
//! would tell a server (they are here, they live, they hold these containers) it knows of its own
//! workers.

use airside_auth::Principal;
use airside_model::{ContainerState, WorkerName};
use airside_store::{ContainerFilter, Team, Worker, WorkerChange, WorkerChanged};
use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState, body,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

/// A worker that belongs to a team is shown to that team and to administrators; one whose team does
/// not exist, to administrators.
pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let teams = state.store.teams().await?;
    let workers = state.store.workers().await?;
    let shown = workers
        .iter()
        .filter(|worker| is_visible(worker, &teams, &scope))
        .map(|worker| {
            let mut condition = state.workers.condition(&worker.name);
            condition.note_team(worker, &teams);
            present::worker::worker(worker, &condition)
        });
    Ok(Json(shown.collect()))
}

/// Returns true if the caller may see the worker.
pub(crate) fn is_visible(worker: &Worker, teams: &[Team], scope: &RequestScope) -> bool {
    worker
        .team
        .as_deref()
        .is_none_or(|owner| match teams.iter().find(|team| team.name == owner) {
            Some(team) => scope.can_view(team),
            None => scope.principal().is_some_and(Principal::is_admin),
        })
}

#[derive(Deserialize)]
pub(super) struct Named {
    worker_name: String,
}

impl Named {
    fn worker(self) -> WorkerName {
        WorkerName(self.worker_name)
    }
}

pub(super) async fn land(
    State(state): State<ApiState>,
    Path(named): Path<Named>,
) -> Result<StatusCode> {
    change(&state, &named.worker(), WorkerChange::Land).await
}

pub(super) async fn retire(
    State(state): State<ApiState>,
    Path(named): Path<Named>,
) -> Result<StatusCode> {
    change(&state, &named.worker(), WorkerChange::Retire).await
}

pub(super) async fn delete(
    State(state): State<ApiState>,
    Path(named): Path<Named>,
) -> Result<StatusCode> {
    change(&state, &named.worker(), WorkerChange::Delete).await
}

/// Says why where it will not, in the words that `fly` shows.
pub(super) async fn prune(
    State(state): State<ApiState>,
    Path(named): Path<Named>,
) -> Result<Response> {
    let pruned = state
        .workers
        .change(&named.worker(), WorkerChange::Prune)
        .await?;
    Ok(match pruned {
        WorkerChanged::Done => StatusCode::OK.into_response(),
        WorkerChanged::Unknown => StatusCode::NOT_FOUND.into_response(),
        WorkerChanged::Running => {
            let why = json!({"stderr": "cannot prune running worker"});
            (StatusCode::BAD_REQUEST, Json(why)).into_response()
        }
    })
}

async fn change(state: &ApiState, worker: &WorkerName, change: WorkerChange) -> Result<StatusCode> {
    match state.workers.change(worker, change).await? {
        WorkerChanged::Done | WorkerChanged::Running => Ok(StatusCode::OK),
        WorkerChanged::Unknown => Err(ApiError::NotFound),
    }
}

/// A worker's registration; only its name counts here.
#[derive(Deserialize)]
struct Registration {
    #[serde(default)]
    name: String,
}

/// Brings back a worker of this server's that has landed or is gone. No other can be registered.
pub(super) async fn register(State(state): State<ApiState>, body: Body) -> Result<StatusCode> {
    let Registration { name } = body::json(body, "a worker").await?;
    let worker = WorkerName(name);
    match state
        .workers
        .change(&worker, WorkerChange::Register)
        .await?
    {
        WorkerChanged::Done | WorkerChanged::Running => Ok(StatusCode::OK),
        WorkerChanged::Unknown => Err(ApiError::BadRequest(format!(
            "worker '{worker}' is not one of this server's, and workers of Concourse cannot join it: steps run \
             on the server's machine, on those of its agents, or as pods of the namespaces that its --targets file lists"
        ))),
    }
}

/// Takes a worker's heartbeat. It is not needed: this server sees its workers by itself.
pub(super) async fn heartbeat(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(named): Path<Named>,
) -> Result<Json<Value>> {
    let teams = state.store.teams().await?;
    let workers = state.store.workers().await?;
    let worker = workers.iter().find(|worker| {
        worker.name.as_str() == named.worker_name && is_visible(worker, &teams, &scope)
    });
    let worker = worker.ok_or(ApiError::NotFound)?;
    let condition = state.workers.condition(&worker.name);
    Ok(Json(present::worker::worker(worker, &condition)))
}

/// The worker that a query is about; without one there is nothing to answer.
#[derive(Deserialize)]
pub(super) struct About {
    #[serde(default)]
    worker_name: String,
}

impl About {
    fn worker(self) -> Result<WorkerName> {
        match self.worker_name.as_str() {
            "" => Err(ApiError::NotFound),
            _ => Ok(WorkerName(self.worker_name)),
        }
    }
}

/// The handles of what is about to be removed from a worker.
pub(super) async fn destroying_containers(
    State(state): State<ApiState>,
    Query(about): Query<About>,
) -> Result<Json<Vec<String>>> {
    let filter = ContainerFilter {
        worker: Some(about.worker()?),
        ..ContainerFilter::default()
    };
    let containers = state.store.containers(&filter).await?;
    let handles = containers
        .iter()
        .filter(|container| container.state == ContainerState::Destroying)
        .map(|container| container.handle.to_string());
    Ok(Json(handles.collect()))
}

/// No volume lies with a worker, so it has none to remove.
pub(super) async fn destroying_volumes(Query(about): Query<About>) -> Result<Json<Vec<String>>> {
    about.worker()?;
    Ok(Json(Vec::new()))
}

/// Refuses reports: this server looks itself what a worker holds.
pub(super) async fn report(Query(about): Query<About>) -> Result<StatusCode> {
    let worker = about.worker()?;
    Err(ApiError::Conflict(format!(
        "what is on worker '{worker}' is not for others to report: this server looks for itself, and workers of \
         Concourse cannot join it"
    )))
}
