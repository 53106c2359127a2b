//! Pipelines as a whole.

use std::collections::HashSet;

use airside_model::TeamId;
use airside_setting::{PipelineChange, check_name};
use airside_store::{InstanceVars, Pausing, PipelineSummary};
use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde_json::{Map, Value};

use super::teams::{Rename, renamed};
use crate::{
    ApiState, body,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

/// Lists pipelines of all teams that the caller may see.
pub(super) async fn visible(
    state: &ApiState,
    scope: &RequestScope,
) -> Result<Vec<PipelineSummary>> {
    let teams = state.store.teams().await?;
    let viewed: HashSet<TeamId> = teams
        .iter()
        .filter(|team| scope.can_view(team))
        .map(|team| team.id)
        .collect();
    let mut pipelines = state.store.pipelines(None).await?;
    pipelines.retain(|pipeline| pipeline.public || viewed.contains(&pipeline.team));
    let others = pipelines.iter_mut();
    for other in others.filter(|pipeline| !viewed.contains(&pipeline.team)) {
        other.paused_by = None;
    }
    Ok(pipelines)
}

/// Lists pipelines of one team that the caller may see.
pub(super) async fn visible_of_team(
    state: &ApiState,
    scope: &RequestScope,
) -> Result<Vec<PipelineSummary>> {
    let team = scope.team()?;
    let viewed = scope.can_view(team);
    let mut pipelines = state.store.pipelines(Some(team.id)).await?;
    pipelines.retain(|pipeline| pipeline.public || viewed);
    for pipeline in pipelines.iter_mut().filter(|_| !viewed) {
        pipeline.paused_by = None;
    }
    Ok(pipelines)
}

pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Response> {
    Ok(shown(&visible(&state, &scope).await?))
}

pub(super) async fn list(State(state): State<ApiState>, scope: RequestScope) -> Result<Response> {
    Ok(shown(&visible_of_team(&state, &scope).await?))
}

fn shown(pipelines: &[PipelineSummary]) -> Response {
    let shown: Vec<_> = pipelines.iter().map(present::pipeline::pipeline).collect();
    Json(shown).into_response()
}

pub(super) async fn get(scope: RequestScope) -> Result<Response> {
    Ok(Json(present::pipeline::pipeline(scope.pipeline()?)).into_response())
}

pub(super) async fn delete(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<StatusCode> {
    let pipeline = scope.pipeline()?;
    let change = PipelineChange::Destroy;
    state.pipelines.permit_change(pipeline, change).await?;
    state.store.destroy_pipeline(pipeline.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn pause(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let by = scope.caller()?.display_user_id();
    let id = scope.active_pipeline()?.id;
    Ok(state
        .store
        .set_pipeline_paused(id, Pausing::Pause { by })
        .await?)
}

pub(super) async fn unpause(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let id = scope.active_pipeline()?.id;
    Ok(state.store.set_pipeline_paused(id, Pausing::Resume).await?)
}

pub(super) async fn expose(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let id = scope.pipeline()?.id;
    Ok(state.store.set_pipeline_public(id, true).await?)
}

pub(super) async fn hide(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let id = scope.pipeline()?.id;
    Ok(state.store.set_pipeline_public(id, false).await?)
}

pub(super) async fn archive(State(state): State<ApiState>, scope: RequestScope) -> Result<()> {
    let pipeline = scope.pipeline()?;
    let change = PipelineChange::Archive;
    state.pipelines.permit_change(pipeline, change).await?;
    Ok(state.store.archive_pipeline(pipeline.id).await?)
}

/// Renames every instance of the name.
pub(super) async fn rename(
    State(state): State<ApiState>,
    scope: RequestScope,
    axum::extract::Path(super::PipelineName { pipeline_name }): axum::extract::Path<
        super::PipelineName,
    >,
    body: Body,
) -> Result<Json<Value>> {
    let team = scope.team()?;
    let Rename { name } = body::json(body, "the new name").await?;
    let warning = check_name(&name, "pipeline").map_err(ApiError::Invalid)?;
    let permitted = state.pipelines.permit_rename(team, &pipeline_name);
    permitted.await?;
    if state
        .store
        .rename_pipelines(team.id, &pipeline_name, &name)
        .await?
    {
        Ok(renamed(warning))
    } else {
        Err(ApiError::NotFound)
    }
}

pub(super) async fn order(
    State(state): State<ApiState>,
    scope: RequestScope,
    body: Body,
) -> Result<()> {
    let names: Vec<String> = body::json(body, "the order of pipelines").await?;
    Ok(state
        .store
        .order_pipelines(scope.team()?.id, &names)
        .await?)
}

pub(super) async fn order_instances(
    State(state): State<ApiState>,
    scope: RequestScope,
    axum::extract::Path(super::PipelineName { pipeline_name }): axum::extract::Path<
        super::PipelineName,
    >,
    body: Body,
) -> Result<()> {
    // An instance without vars is `null`.
    let given: Vec<Option<Map<String, Value>>> = body::json(body, "the order of instances").await?;
    let instances: Vec<InstanceVars> = given
        .into_iter()
        .map(|vars| InstanceVars::new(vars.unwrap_or_default()))
        .collect();
    let team = scope.team()?.id;
    let ordered = state
        .store
        .order_instances(team, &pipeline_name, &instances)
        .await;
    ordered.map_err(|error| match error {
        airside_store::Error::NoSuchPipeline { name } => {
            let name = shown_instance(&name, &pipeline_name);
            airside_store::Error::NoSuchPipeline { name }.into()
        }
        error => error.into(),
    })
}

/// `name/{"a":1}` as fly writes it: `name/a:1`.
fn shown_instance(instance: &str, name: &str) -> String {
    let vars = instance
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('/'));
    let vars = vars.and_then(|vars| serde_json::from_str::<Map<String, Value>>(vars).ok());
    match vars {
        Some(vars) if vars.is_empty() => name.to_owned(),
        Some(vars) => {
            let is_text = |text: &str| serde_json::from_str::<Value>(text).is_err();
            let vars = airside_vars::InstanceVars(vars).shown(is_text);
            format!("{name}/{vars}")
        }
        None => instance.to_owned(),
    }
}
