//! Routes of Concourse that this version does not serve: a clear answer instead of a riddle.

use axum::{
    Router,
    routing::{MethodFilter, on},
};
use http::{Method, Uri};

use crate::{ApiState, error::ApiError};

const GET: &[&str] = &[
    "/api/v1/builds/{build_id}/artifacts",
    "/api/v1/builds/{build_id}/resources",
    "/api/v1/cli",
    "/api/v1/components",
    "/api/v1/containers/destroying",
    "/api/v1/health",
    "/api/v1/info/creds",
    "/api/v1/jobs",
    "/api/v1/log-level",
    "/api/v1/pipelines/{pipeline_name}/jobs/{job_name}/badge",
    "/api/v1/resources",
    "/api/v1/teams/{team_name}/artifacts/{artifact_id}",
    "/api/v1/teams/{team_name}/cc.xml",
    "/api/v1/teams/{team_name}/containers/{handle}",
    "/api/v1/teams/{team_name}/containers/{handle}/hijack",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/badge",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/badge",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/inputs",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{name}/shared",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/shared",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/downstream",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/input_to",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/output_of",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/upstream",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/versions-db",
    "/api/v1/teams/{team_name}/volumes",
    "/api/v1/users",
    "/api/v1/volumes/destroying",
];

const PUT: &[&str] = &[
    "/api/v1/builds/{build_id}/comment",
    "/api/v1/components/pause",
    "/api/v1/components/unpause",
    "/api/v1/components/{component_name}/pause",
    "/api/v1/components/{component_name}/unpause",
    "/api/v1/containers/report",
    "/api/v1/log-level",
    "/api/v1/teams/{team_name}",
    "/api/v1/teams/{team_name}/pipelines/ordering",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/archive",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/pause",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/schedule",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/unpause",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/ordering",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/rename",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/pin_comment",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/unpin",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/disable",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/enable",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions/{version}/pin",
    "/api/v1/teams/{team_name}/rename",
    "/api/v1/volumes/report",
    "/api/v1/wall",
    "/api/v1/workers/{worker_name}/heartbeat",
    "/api/v1/workers/{worker_name}/land",
    "/api/v1/workers/{worker_name}/prune",
    "/api/v1/workers/{worker_name}/retire",
];

const POST: &[&str] = &[
    "/api/v1/teams/{team_name}/artifacts",
    "/api/v1/teams/{team_name}/builds",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/builds",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds/{build_name}",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/prototypes/{name}/check",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{name}/check",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/check",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/check/webhook",
    "/api/v1/workers",
];

const DELETE: &[&str] = &[
    "/api/v1/teams/{team_name}",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/tasks/{step_name}/cache",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{name}/versions",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/cache",
    "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{name}/versions",
    "/api/v1/wall",
    "/api/v1/workers/{worker_name}",
];

pub(crate) fn router() -> Router<ApiState> {
    let methods = [
        (MethodFilter::GET, GET),
        (MethodFilter::PUT, PUT),
        (MethodFilter::POST, POST),
        (MethodFilter::DELETE, DELETE),
    ];
    let mut router = Router::new();
    for (method, paths) in methods {
        for path in paths {
            router = router.route(path, on(method, unserved));
        }
    }
    router
}

async fn unserved(method: Method, uri: Uri) -> ApiError {
    ApiError::NotImplemented(format!("{method} {}", uri.path()))
}

/// Whatever is no route at all.
pub(crate) async fn unknown() -> ApiError {
    ApiError::NotFound
}
