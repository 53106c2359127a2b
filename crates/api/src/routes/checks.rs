//! Checks that people and other servers ask for.

use airside_model::Version;
use axum::{
    Json,
    body::Bytes,
    extract::{Path, Query, State},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::resources::ResourceName;
use crate::{
    ApiState, CheckError, CheckSubject, WantedCheck,
    error::{ApiError, Result},
    present,
    scope::Scope,
};

type Created = (StatusCode, Json<Value>);

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    from: Option<Version>,
    #[serde(default)]
    shallow: bool,
}

pub(super) async fn resource(
    State(state): State<ApiState>,
    scope: Scope,
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
    scope: Scope,
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
    scope: Scope,
    Path(PrototypeName { prototype_name }): Path<PrototypeName>,
    body: Bytes,
) -> Result<Created> {
    let subject = CheckSubject::Prototype(&prototype_name);
    check(&state, &scope, subject, &body).await
}

async fn check(
    state: &ApiState,
    scope: &Scope,
    subject: CheckSubject<'_>,
    body: &[u8],
) -> Result<Created> {
    let pipeline = scope.active_pipeline()?;
    let wanted: Wanted = serde_json::from_slice(body)
        .map_err(|error| ApiError::BadRequest(format!("malformed request: {error}")))?;
    let build = state
        .checks()?
        .check(WantedCheck {
            pipeline: pipeline.id,
            subject,
            from: wanted.from.filter(|version| !version.is_empty()),
            shallow: wanted.shallow,
            by: scope.caller()?.display_user_id(),
        })
        .await?;
    Ok((StatusCode::CREATED, Json(present::build::build(&build))))
}

#[derive(Deserialize)]
pub(super) struct WebhookToken {
    #[serde(default)]
    webhook_token: String,
}

/// Whoever knows the token may have the resource checked. What they send along is not even read.
pub(super) async fn webhook(
    State(state): State<ApiState>,
    scope: Scope,
    Path(ResourceName { resource_name }): Path<ResourceName>,
    Query(WebhookToken { webhook_token }): Query<WebhookToken>,
) -> Result<Created> {
    if webhook_token.is_empty() {
        return Err(ApiError::BadRequest("no webhook_token".to_owned()));
    }
    let pipeline = scope.active_pipeline()?;
    let build = state
        .checks()?
        .webhook(pipeline.id, &resource_name, &webhook_token)
        .await?;
    Ok((StatusCode::CREATED, Json(present::build::build(&build))))
}

impl From<CheckError> for ApiError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::NotFound => Self::NotFound,
            CheckError::WrongToken => Self::Unauthenticated,
            CheckError::Refused(words) => Self::Invalid(words),
            CheckError::Store(error) => error.into(),
        }
    }
}
