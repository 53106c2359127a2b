//! The dashboard: all pipelines that the viewer may see.

use airside_ui::FirstRun;
use axum::{extract::State, response::Response};

use super::PageRequest;
use crate::{ApiState, error::Result, routes::server::running_and_away};

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let workers = state.store.workers().await?;
    let (running, _) = running_and_away(&state, &workers);
    let first_run = FirstRun {
        external_url: state.external_url.to_string(),
        workers: running.len(),
        team: None,
    };
    Ok(request.show(&first_run.page()))
}
