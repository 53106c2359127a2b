//! Pipelines as a whole.

use std::collections::HashSet;

use airside_model::TeamId;
use axum::{Json, extract::State};
use http::StatusCode;
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::Scope};

/// Those of all teams that whoever asks may see.
pub(super) async fn list_all(
    State(state): State<ApiState>,
    scope: Scope,
) -> Result<Json<Vec<Value>>> {
    let teams = state.store.teams().await?;
    let viewed: HashSet<TeamId> = teams
        .iter()
        .filter(|team| scope.can_view(team))
        .map(|team| team.id)
        .collect();
    let pipelines = state.store.pipelines(None).await?;
    let visible = pipelines
        .iter()
        .filter(|pipeline| pipeline.public || viewed.contains(&pipeline.team));
    Ok(Json(visible.map(present::pipeline::pipeline).collect()))
}

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let team = scope.team()?;
    let pipelines = state.store.pipelines(Some(team.id)).await?;
    let viewed = scope.can_view(team);
    let visible = pipelines
        .iter()
        .filter(|pipeline| pipeline.public || viewed);
    Ok(Json(visible.map(present::pipeline::pipeline).collect()))
}

pub(super) async fn get(scope: Scope) -> Result<Json<Value>> {
    Ok(Json(present::pipeline::pipeline(scope.pipeline()?)))
}

pub(super) async fn delete(State(state): State<ApiState>, scope: Scope) -> Result<StatusCode> {
    state.store.destroy_pipeline(scope.pipeline()?.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn pause(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    Ok(state
        .store
        .set_pipeline_paused(scope.active_pipeline()?.id, true)
        .await?)
}

pub(super) async fn unpause(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    Ok(state
        .store
        .set_pipeline_paused(scope.active_pipeline()?.id, false)
        .await?)
}

pub(super) async fn expose(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    Ok(state
        .store
        .set_pipeline_public(scope.pipeline()?.id, true)
        .await?)
}

pub(super) async fn hide(State(state): State<ApiState>, scope: Scope) -> Result<()> {
    Ok(state
        .store
        .set_pipeline_public(scope.pipeline()?.id, false)
        .await?)
}
