//! Builds: lists of them, and one at a time.

use airside_model::{BuildStatus, public_plan::public_plan};
use airside_store::BuildFilter;
use axum::{
    Json,
    body::Body,
    extract::{Query, State},
    response::Response,
};
use http::{StatusCode, Uri};
use serde_json::{Value, json};

use crate::{
    ApiState, Prepared, body,
    error::{ApiError, Result},
    page::{self, PageQuery},
    present,
    scope::RequestScope,
};

/// Lists builds of the teams that the caller belongs to, and of exposed pipelines.
pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let filters = visible(&state, &scope).await?;
    page::builds(&state, &scope, &uri, &query, &filters).await
}

/// Returns filters that let through the builds that the caller may see, each once.
pub(crate) async fn visible(state: &ApiState, scope: &RequestScope) -> Result<Vec<BuildFilter>> {
    if scope
        .principal()
        .is_some_and(|principal| principal.is_admin())
    {
        return Ok(vec![BuildFilter::default()]);
    }
    let teams = state.store.teams().await?;
    let viewed: Vec<_> = teams
        .iter()
        .filter(|team| scope.can_view(team))
        .map(|team| team.id)
        .collect();
    let own = viewed.iter().map(|team| BuildFilter {
        team: Some(*team),
        ..BuildFilter::default()
    });
    let own: Vec<_> = own.collect();
    let exposed = BuildFilter {
        exposed_beyond: Some(viewed),
        ..BuildFilter::default()
    };
    Ok(own.into_iter().chain([exposed]).collect())
}

/// Lists a team's builds; to callers outside of it, only those of exposed pipelines.
pub(super) async fn of_team(
    State(state): State<ApiState>,
    scope: RequestScope,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let team = scope.team()?;
    let filter = BuildFilter {
        team: Some(team.id),
        exposed_beyond: (!scope.can_view(team)).then(Vec::new),
        ..BuildFilter::default()
    };
    page::builds(&state, &scope, &uri, &query, &[filter]).await
}

pub(super) async fn of_pipeline(
    State(state): State<ApiState>,
    scope: RequestScope,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let filter = BuildFilter {
        pipeline: Some(scope.pipeline()?.id),
        ..BuildFilter::default()
    };
    page::builds(&state, &scope, &uri, &query, &[filter]).await
}

/// The comment is for those who may see the build's output.
pub(super) async fn get(scope: RequestScope) -> Result<Json<Value>> {
    let build = scope.build()?;
    let mut shown = present::build::build(build);
    if !build.comment.is_empty() && scope.sees_output()? {
        shown["comment"] = json!(build.comment);
    }
    Ok(Json(shown))
}

#[derive(serde::Deserialize)]
struct Comment {
    #[serde(default)]
    comment: String,
}

pub(super) async fn comment(
    State(state): State<ApiState>,
    scope: RequestScope,
    request: Body,
) -> Result<()> {
    let Comment { comment } = body::json(request, "the comment").await?;
    let build = scope.build()?.id;
    Ok(state.store.set_build_comment(build, &comment).await?)
}

/// Returns the inputs and outputs of the build.
pub(super) async fn resources(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    let versions = state.store.build_versions(scope.build()?.id).await?;
    Ok(Json(present::build::versions(&versions)))
}

pub(super) async fn plan(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    let plan = state
        .store
        .build_plan(scope.build()?.id)
        .await?
        .ok_or(ApiError::NotFound)?;
    Ok(Json(
        json!({"schema": "exec.v2", "plan": public_plan(&plan)}),
    ))
}

pub(super) async fn abort(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<StatusCode> {
    state.builds.abort(scope.build()?.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the reasons why a pending build has not started.
pub(super) async fn preparation(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Value>> {
    let build = scope.build()?;
    let pending = build.status == BuildStatus::Pending;
    let preparation = if pending && !build.inputs_ready {
        state.builds.preparation(build.id).await
    } else {
        None
    };
    Ok(Json(present::build::preparation(
        build,
        &preparation.unwrap_or_else(|| Prepared::nothing_blocks(build.id)),
    )))
}
