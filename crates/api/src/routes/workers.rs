//! Placement targets.

use axum::{Json, extract::State};
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::Scope};

/// A worker that belongs to a team is shown to that team alone.
pub(super) async fn list(State(state): State<ApiState>, scope: Scope) -> Result<Json<Vec<Value>>> {
    let teams = state.store.teams().await?;
    let visible = |team: &str| {
        teams
            .iter()
            .any(|candidate| candidate.name == team && scope.can_view(candidate))
    };
    let workers = state.store.workers().await?;
    let shown = workers
        .iter()
        .filter(|worker| worker.team.as_deref().is_none_or(visible))
        .map(present::worker::worker);
    Ok(Json(shown.collect()))
}
