//! Volumes of a team's builds.

use axum::{Json, extract::State};
use serde_json::Value;

use crate::{ApiState, error::Result, present, scope::RequestScope};

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    // Volumes lie with the server, and so do its own steps: theirs is the first worker.
    let workers = state.store.workers().await?;
    let own = workers.first().map_or("", |worker| worker.name.as_str());
    let volumes = state.store.team_volumes(scope.team()?.id).await?;
    let shown = volumes
        .iter()
        .map(|volume| present::volume::volume(volume, own));
    Ok(Json(shown.collect()))
}
