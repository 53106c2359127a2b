//! Checks that people and other servers ask for.

use airside_checks::{CheckDepth, CheckRequest, CheckRequestError, CheckSubject, WebhookOutcome};
use airside_model::{Version, chain};
use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{Path, Query, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::info;

use super::resources::ResourceName;
use crate::{
    ApiState,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

/// A webhook's payload; of one that is larger nothing is read.
const PAYLOAD: usize = 1 << 20;

type Created = (StatusCode, Json<Value>);

#[derive(Deserialize)]
struct CheckBody {
    #[serde(default)]
    from: Option<Version>,
    #[serde(default)]
    shallow: bool,
}

pub(super) async fn resource(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(ResourceName { resource_name }): Path<ResourceName>,
    body: Bytes,
) -> Result<Created> {
    check(
        &state,
        &scope,
        CheckSubject::Resource(&resource_name),
        &body,
    )
    .await
}

#[derive(Deserialize)]
pub(super) struct ResourceTypeName {
    resource_type_name: String,
}

pub(super) async fn resource_type(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(ResourceTypeName { resource_type_name }): Path<ResourceTypeName>,
    body: Bytes,
) -> Result<Created> {
    let subject = CheckSubject::ResourceType(&resource_type_name);
    check(&state, &scope, subject, &body).await
}

#[derive(Deserialize)]
pub(super) struct PrototypeName {
    prototype_name: String,
}

pub(super) async fn prototype(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(PrototypeName { prototype_name }): Path<PrototypeName>,
    body: Bytes,
) -> Result<Created> {
    let subject = CheckSubject::Prototype(&prototype_name);
    check(&state, &scope, subject, &body).await
}

async fn check(
    state: &ApiState,
    scope: &RequestScope,
    subject: CheckSubject<'_>,
    body: &[u8],
) -> Result<Created> {
    let pipeline = scope.active_pipeline()?;
    let wanted: CheckBody = serde_json::from_slice(body)
        .map_err(|error| ApiError::BadRequest(format!("malformed request: {}", chain(&error))))?;
    let build = state
        .checks()?
        .request(CheckRequest {
            pipeline: pipeline.id,
            subject,
            from: wanted.from.filter(|version| !version.is_empty()),
            depth: if wanted.shallow {
                CheckDepth::Shallow
            } else {
                CheckDepth::Deep
            },
            by: Some(scope.caller()?.display_user_id()),
        })
        .await?;
    Ok((StatusCode::CREATED, Json(present::build::build(&build))))
}

#[derive(Deserialize)]
pub(super) struct WebhookToken {
    #[serde(default)]
    webhook_token: String,
}

/// Has the resource checked for those who know its token. What they send along can only spare that.
/// Strangers get the same answer whatever went wrong, so that they learn nothing of what there is;
/// the log has the reason.
pub(super) async fn webhook(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(ResourceName { resource_name }): Path<ResourceName>,
    Query(WebhookToken { webhook_token }): Query<WebhookToken>,
    request: Body,
) -> Result<Response> {
    let outcome = run_webhook(&state, &scope, &resource_name, &webhook_token, request).await;
    match outcome {
        Ok(outcome) => Ok(response(outcome)),
        Err(ApiError::Store(error)) => Err(ApiError::Store(error)),
        Err(why) => {
            info!(resource = resource_name, reason = %chain(&why), "webhook of a resource refused");
            Err(ApiError::Unauthenticated)
        }
    }
}

async fn run_webhook(
    state: &ApiState,
    scope: &RequestScope,
    resource: &str,
    token: &str,
    request: Body,
) -> Result<WebhookOutcome> {
    if token.is_empty() {
        return Err(ApiError::BadRequest("no webhook_token".to_owned()));
    }
    let pipeline = scope.active_pipeline()?.id;
    // A payload that does not arrive whole is not used.
    let payload = to_bytes(request, PAYLOAD).await.unwrap_or_default();
    let checks = state.checks()?;
    Ok(checks.webhook(pipeline, resource, token, &payload).await?)
}

fn response(outcome: WebhookOutcome) -> Response {
    match outcome {
        WebhookOutcome::Checking(build) => {
            (StatusCode::CREATED, Json(present::build::build(&build))).into_response()
        }
        WebhookOutcome::Spared(why) => Json(json!({"not_checked": why})).into_response(),
    }
}

impl From<CheckRequestError> for ApiError {
    fn from(error: CheckRequestError) -> Self {
        match error {
            CheckRequestError::NotFound => Self::NotFound,
            CheckRequestError::WrongToken => Self::Unauthenticated,
            CheckRequestError::Store(error) => error.into(),
            refused @ (CheckRequestError::NoToken(_) | CheckRequestError::Plan(_)) => {
                Self::Invalid(refused.to_string())
            }
        }
    }
}
