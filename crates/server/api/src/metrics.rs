//! `/metrics`, for Prometheus. It has a listener of its own: only users who have logged in may
//! learn the names of pipelines.

use airside_telemetry::metrics::WorkerGauge;
use axum::{Router, extract::State, response::IntoResponse, routing::get};
use http::header::CONTENT_TYPE;

use crate::{ApiState, error::Result, present};

/// The content type of OpenMetrics text.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub fn metrics_router(state: ApiState) -> Router {
    Router::new()
        .route("/metrics", get(render))
        .with_state(state)
}

async fn render(State(state): State<ApiState>) -> Result<impl IntoResponse> {
    let workers = state.store.workers().await?;
    let teams = state.store.teams().await?;
    let gauges = workers.iter().map(|worker| {
        let mut condition = state.workers.condition(&worker.name);
        condition.note_team(worker, &teams);
        WorkerGauge {
            name: worker.name.as_str(),
            state: present::worker::state(worker, &condition).as_str(),
            containers: worker.active_containers,
            lacks: i64::try_from(condition.lacks.len()).unwrap_or(i64::MAX),
        }
    });
    Ok(([(CONTENT_TYPE, FORMAT)], state.metrics.render(gauges)))
}
