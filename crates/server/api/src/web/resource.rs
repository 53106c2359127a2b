//! One resource: its check and its versions.

mod check;
mod versions;

use airside_auth::Action;
use airside_model::Version;
use airside_store::{PipelineSummary, Resource, now};
use airside_ui::{Crumb, PinNote, ResourcePage, SendButton, type_icon};
use axum::{
    extract::{Path, State},
    response::Response,
};
use serde::Deserialize;
use url::form_urlencoded;

use super::{
    PageRequest,
    links::pipeline_url,
    paging::ListPage,
    place::{api_url, crumbs},
};
use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::job_outline,
};

const PARTS: &str = "head,rows,check,bar";

#[derive(Deserialize)]
pub(crate) struct ResourceName {
    resource_name: String,
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(ResourceName { resource_name }): Path<ResourceName>,
    request: PageRequest,
) -> Result<Response> {
    let pipeline = request.scope.pipeline()?;
    let resource = state.store.resource(pipeline.id, &resource_name).await?;
    let resource = resource.ok_or(ApiError::NotFound)?;
    let here = pipeline_url(pipeline, &["resources", &resource.name]);
    let query = query_of(&here);
    let filters = filters(&request);
    let listed = ListPage::of(&request);
    let list = versions::VersionList {
        resource: &resource,
        here: with_filters(&here, &filters),
        listed,
        filter: versions::filter(&state, resource.id, &filters).await?,
    };
    let versions = versions::rows(&state, &request, &list, now()).await?;
    let mut crumbs = crumbs(pipeline);
    crumbs.push(Crumb::new(&resource.name, here));
    let shown = ResourcePage {
        crumbs,
        id: resource.id.0,
        icon: type_icon(&resource.type_),
        check: check::note(&state, &request, &resource, now()).await?,
        jobs: jobs(&state, pipeline, &resource.name).await?,
        actions: actions(&request, &resource)?,
        pin: pin(&request, &resource)?,
        filter: filters.first().cloned().unwrap_or_default(),
        kept: query,
        rows: versions.rows,
        newer: versions.newer,
        older: versions.older,
        facts: check::facts(&state, &request, &resource.name).await?,
        type_: resource.type_,
        name: resource.name,
    };
    Ok(request.show(&shown.page()))
}

/// Returns the pairs of an address's query.
fn query_of(address: &str) -> Vec<(String, String)> {
    let (_, query) = address.split_once('?').unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// Returns the filters of versions that the address has.
fn filters(request: &PageRequest) -> Vec<String> {
    let query = request.uri.query().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    let filters = pairs.filter(|(name, value)| name == "filter" && !value.trim().is_empty());
    let filters = filters.map(|(_, value)| value.trim().to_owned());
    filters.take(MAX_FILTERS).collect()
}

/// The most pairs of a version that one search names.
const MAX_FILTERS: usize = 8;

fn with_filters(here: &str, filters: &[String]) -> String {
    if filters.is_empty() {
        return here.to_owned();
    }
    let (path, query) = here.split_once('?').unwrap_or((here, ""));
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.extend_pairs(form_urlencoded::parse(query.as_bytes()));
    pairs.extend_pairs(filters.iter().map(|filter| ("filter", filter)));
    format!("{path}?{}", pairs.finish())
}

/// Returns the jobs that get or put the resource.
async fn jobs(state: &ApiState, pipeline: &PipelineSummary, resource: &str) -> Result<Vec<String>> {
    let jobs = state.store.jobs(pipeline.id).await?;
    let uses = jobs.into_iter().filter(|job| {
        let outline = job_outline(job);
        let gets = outline
            .inputs
            .iter()
            .any(|input| input.resource == resource);
        gets || outline
            .outputs
            .iter()
            .any(|output| output.resource == resource)
    });
    Ok(uses.map(|job| job.name).collect())
}

fn actions(request: &PageRequest, resource: &Resource) -> Result<Vec<SendButton>> {
    let pipeline = request.scope.pipeline()?;
    let url = api_url(pipeline, &["resources", &resource.name, "check"]);
    let check = SendButton::new("POST", url, "Check now", "i-again")
        .body("{}".to_owned())
        .parts(PARTS);
    let check = if pipeline.archived {
        check.refused("the pipeline is archived".to_owned())
    } else {
        check
    };
    Ok(request
        .offer(Action::CheckResource, check)
        .into_iter()
        .collect())
}

fn pin(request: &PageRequest, resource: &Resource) -> Result<Option<PinNote>> {
    let Some(pin) = &resource.pin else {
        return Ok(None);
    };
    let pipeline = request.scope.pipeline()?;
    let url = |rest| api_url(pipeline, &["resources", &resource.name, rest]);
    let comment = SendButton::new("PUT", url("pin_comment"), "Comment", "i-edit")
        .class("btn btn-quiet not-phone")
        .ask(
            "pin_comment",
            "Why is it pinned?".to_owned(),
            pin.comment.clone(),
        )
        .parts(PARTS);
    let unpin = SendButton::new("PUT", url("unpin"), "Unpin", "").parts(PARTS);
    let actions = if pin.in_config {
        Vec::new()
    } else {
        [
            request.offer(Action::SetPinCommentOnResource, comment),
            request.offer(Action::UnpinResource, unpin),
        ]
        .into_iter()
        .flatten()
        .collect()
    };
    Ok(Some(PinNote {
        version: Version(pin.version.0.clone()),
        in_config: pin.in_config,
        comment: pin.comment.clone(),
        actions,
    }))
}
