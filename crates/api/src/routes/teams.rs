//! Teams, and the user's place in them.

use axum::{Json, extract::State};
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::Scope};

pub(super) async fn user(State(state): State<ApiState>, scope: Scope) -> Result<Json<Value>> {
    let teams = state.store.teams().await?;
    Ok(Json(present::user::user(scope.caller()?, &teams)))
}

pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let teams = state.store.teams().await?;
    let visible = teams.iter().filter(|team| scope.can_view(team));
    Ok(Json(visible.map(present::team::team).collect()))
}

pub(super) async fn get(scope: Scope) -> Result<Json<Value>> {
    Ok(Json(present::team::team(scope.team()?)))
}
