//! The builds and versions that a version led to, and those that led to it.

mod columns;

use airside_model::ResourceVersionId;
use airside_store::Direction;
use airside_ui::{CausalityPage, Crumb, type_icon, version_text};
use axum::{
    extract::{Path, State},
    response::Response,
};
use serde::Deserialize;

use super::{PageRequest, links::pipeline_url, place::crumbs};
use crate::{
    ApiState,
    error::{ApiError, Result},
};

#[derive(Deserialize)]
pub(crate) struct NamedVersion {
    resource_name: String,
    resource_config_version_id: i64,
}

pub(crate) async fn downstream(
    State(state): State<ApiState>,
    Path(path): Path<NamedVersion>,
    request: PageRequest,
) -> Result<Response> {
    show(&state, &path, &request, Direction::Downstream).await
}

pub(crate) async fn upstream(
    State(state): State<ApiState>,
    Path(path): Path<NamedVersion>,
    request: PageRequest,
) -> Result<Response> {
    show(&state, &path, &request, Direction::Upstream).await
}

async fn show(
    state: &ApiState,
    path: &NamedVersion,
    request: &PageRequest,
    direction: Direction,
) -> Result<Response> {
    let pipeline = request.scope.pipeline()?;
    let resource = state.store.resource(pipeline.id, &path.resource_name);
    let resource = resource.await?.ok_or(ApiError::NotFound)?;
    let id = ResourceVersionId(path.resource_config_version_id);
    let version = state.store.version(resource.id, id).await?;
    let version = version.ok_or(ApiError::NotFound)?;
    let causality = state.store.causality(version.id, direction).await?;
    let id = id.0.to_string();
    let of_resource = |rest: &[&str]| {
        let path = [&["resources", resource.name.as_str()], rest].concat();
        pipeline_url(pipeline, &path)
    };
    let way = match direction {
        Direction::Upstream => "upstream",
        Direction::Downstream => "downstream",
    };
    let mut crumbs = crumbs(pipeline);
    crumbs.push(Crumb::new(&resource.name, of_resource(&[])));
    let here = of_resource(&["causality", &id, way]);
    crumbs.push(Crumb::new(version_text(&version.version), here));
    let shown = CausalityPage {
        crumbs,
        icon: type_icon(&resource.type_),
        version: version.version,
        is_upstream: direction == Direction::Upstream,
        upstream: of_resource(&["causality", &id, "upstream"]),
        downstream: of_resource(&["causality", &id, "downstream"]),
        versions: of_resource(&[]),
        is_too_large: causality.is_none(),
        columns: causality.map_or_else(Vec::new, |causality| {
            columns::columns(&causality, version.id, direction, pipeline)
        }),
        resource: resource.name,
    };
    Ok(request.show(&shown.page()))
}
