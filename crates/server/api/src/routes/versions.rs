//! Versions of resources: listed, looked at, enabled and disabled, pinned, taken away.

use airside_model::{ResourceVersionId, Version};
use airside_store::{PinOutcome, Resource, ResourceVersion, VersionPage};
use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use http::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ApiState, body,
    error::{ApiError, Result},
    page::{self, PageQuery},
    present,
    scope::RequestScope,
};

/// The most builds that are shown of a version.
const MOST_BUILDS: i64 = 5000;

#[derive(Deserialize)]
pub(super) struct ResourceName {
    resource_name: String,
}

#[derive(Deserialize)]
pub(super) struct ResourceTypeName {
    resource_type_name: String,
}

#[derive(Deserialize)]
pub(super) struct NamedVersion {
    resource_name: String,
    resource_config_version_id: i64,
}

async fn resource(state: &ApiState, scope: &RequestScope, name: &str) -> Result<Resource> {
    let found = state.store.resource(scope.pipeline()?.id, name).await?;
    found.ok_or(ApiError::NotFound)
}

/// The pairs of `filter=key:value`, however many there are; what has no colon is not a filter.
fn filter(uri: &Uri) -> Version {
    let query = uri.query().unwrap_or_default().as_bytes();
    let pairs = url::form_urlencoded::parse(query).filter(|(name, _)| name == "filter");
    let pairs = pairs.filter_map(|(_, value)| {
        let (key, value) = value.split_once(':')?;
        Some((key.to_owned(), value.to_owned()))
    });
    Version(pairs.collect())
}

pub(super) async fn list(
    State(state): State<ApiState>,
    scope: RequestScope,
    uri: Uri,
    Path(name): Path<ResourceName>,
    Query(query): Query<PageQuery>,
) -> Result<Response> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    let page = VersionPage {
        limit: query.limit(),
        from: query.from().map(ResourceVersionId),
        to: query.to().map(ResourceVersionId),
    };
    let store = &state.store;
    let versions = store.versions(resource.id, &filter(&uri), page).await?;
    let mut links = Vec::new();
    if let (Some(newest), Some(oldest)) = (versions.first(), versions.last()) {
        let beyond = store.versions_beyond(resource.id, newest.order, oldest.order);
        let (newer, older) = beyond.await?;
        links.extend(older.map(|id| ("to", id.0, "next")));
        links.extend(newer.map(|id| ("from", id.0, "previous")));
    }
    let headers = page::links(&state, &uri, page.limit, links)?;
    let whole = present::resource::is_public(&resource) || scope.can_view(scope.team()?);
    let shown = versions
        .iter()
        .map(|one| present::resource::version(one, whole));
    Ok((headers, Json(shown.collect::<Vec<_>>())).into_response())
}

async fn version(
    state: &ApiState,
    scope: &RequestScope,
    path: &NamedVersion,
) -> Result<(Resource, ResourceVersion)> {
    let resource = resource(state, scope, &path.resource_name).await?;
    let id = ResourceVersionId(path.resource_config_version_id);
    let version = state.store.version(resource.id, id).await?;
    Ok((resource, version.ok_or(ApiError::NotFound)?))
}

pub(super) async fn get(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<Json<Value>> {
    let (resource, version) = version(&state, &scope, &path).await?;
    let whole = present::resource::is_public(&resource) || scope.can_view(scope.team()?);
    Ok(Json(present::resource::version(&version, whole)))
}

pub(super) async fn enable(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<()> {
    set_enabled(&state, &scope, &path, true).await
}

pub(super) async fn disable(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<()> {
    set_enabled(&state, &scope, &path, false).await
}

async fn set_enabled(
    state: &ApiState,
    scope: &RequestScope,
    path: &NamedVersion,
    enabled: bool,
) -> Result<()> {
    let (resource, version) = version(state, scope, path).await?;
    let enabling = state.store.enable_version(resource.id, version.id, enabled);
    enabling.await?;
    Ok(())
}

pub(super) async fn pin(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<()> {
    let (resource, version) = version(&state, &scope, &path).await?;
    pinned(state.store.pin_version(resource.id, version.id).await?)
}

pub(super) async fn unpin(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceName>,
) -> Result<()> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    pinned(state.store.unpin(resource.id).await?)
}

/// Returns Concourse's status for a refusal: `fly` looks at it.
fn pinned(outcome: PinOutcome) -> Result<()> {
    match outcome {
        PinOutcome::Changed => Ok(()),
        PinOutcome::NoSuchVersion => Err(ApiError::NotFound),
        PinOutcome::InConfig => Err(ApiError::Internal(
            "the resource is pinned in the pipeline's configuration; change it there",
        )),
        PinOutcome::NotPinned => Err(ApiError::Internal("the resource is not pinned")),
    }
}

#[derive(Deserialize)]
struct PinComment {
    #[serde(default)]
    pin_comment: String,
}

pub(super) async fn comment(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceName>,
    request: Body,
) -> Result<()> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    let PinComment { pin_comment } = body::json(request, "the comment").await?;
    state
        .store
        .set_pin_comment(resource.id, &pin_comment)
        .await?;
    Ok(())
}

pub(super) async fn clear(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceName>,
) -> Result<Json<Value>> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    let removed = state.store.clear_versions(resource.id).await?;
    Ok(Json(json!({"versions_removed": removed})))
}

#[derive(Default, Deserialize)]
struct WhichVersion {
    version: Option<Version>,
}

/// Clears the caches of a resource: its versions are fetched again, and builds that have them go
/// on.
pub(super) async fn clear_cache(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceName>,
    request: Body,
) -> Result<Json<Value>> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    let which: Option<WhichVersion> = body::json_or_nothing(request, "the version").await?;
    let version = which.unwrap_or_default().version;
    let version = version.filter(|version| !version.is_empty());
    let removed = state
        .store
        .clear_resource_caches(resource.id, version.as_ref())
        .await?;
    Ok(Json(json!({"caches_removed": removed})))
}

/// Clears the caches of a resource type, of which only the newest version is known.
pub(super) async fn clear_of_type(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceTypeName>,
) -> Result<Json<Value>> {
    let type_ = &name.resource_type_name;
    super::resources::find_type(&state, &scope, type_).await?;
    let pipeline = scope.pipeline()?.id;
    let removed = state.store.clear_type_versions(pipeline, type_).await?;
    Ok(Json(json!({"versions_removed": removed})))
}

pub(super) async fn input_to(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<Json<Vec<Value>>> {
    let (_, version) = version(&state, &scope, &path).await?;
    let found = state.store.builds_with_input(version.id, MOST_BUILDS);
    let mut builds = found.await?;
    page::hide_people(&state, &scope, &mut builds).await?;
    Ok(Json(builds.iter().map(present::build::build).collect()))
}

pub(super) async fn output_of(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(path): Path<NamedVersion>,
) -> Result<Json<Vec<Value>>> {
    let (_, version) = version(&state, &scope, &path).await?;
    let found = state.store.builds_with_output(version.id, MOST_BUILDS);
    let mut builds = found.await?;
    page::hide_people(&state, &scope, &mut builds).await?;
    Ok(Json(builds.iter().map(present::build::build).collect()))
}

/// Lists the resources that share the history. Each resource has one of its own.
pub(super) async fn shared(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceName>,
) -> Result<Json<Value>> {
    let resource = resource(&state, &scope, &name.resource_name).await?;
    let own = present::resource::identifier(scope.pipeline()?, &resource.name);
    Ok(Json(json!({"resources": [own], "resource_types": null})))
}

pub(super) async fn shared_type(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(name): Path<ResourceTypeName>,
) -> Result<Json<Value>> {
    let type_name = &name.resource_type_name;
    super::resources::find_type(&state, &scope, type_name).await?;
    let own = present::resource::identifier(scope.pipeline()?, type_name);
    Ok(Json(json!({"resources": null, "resource_types": [own]})))
}
