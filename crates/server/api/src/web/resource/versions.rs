//! Versions of a resource as rows, and the builds of those that are opened.

use std::collections::{HashMap, HashSet};

use airside_auth::Action;
use airside_model::{ResourceId, ResourceVersionId, Version};
use airside_store::{
    Build, Micros, Resource, ResourceVersion, VersionFilter, VersionPage, VersionUse,
};
use airside_ui::{OpenedVersion, PageStatus, SendButton, VersionBuild, VersionJob, VersionRow};

use super::PARTS;
use crate::{
    ApiState,
    error::Result,
    present,
    web::{
        PageRequest,
        links::pipeline_url,
        paging::ListPage,
        place::{api_url, build_url, shown_time},
    },
};

/// The most versions that one page shows with their builds.
const MAX_OPENED: usize = 16;
/// The most builds that are shown of an opened version.
const MAX_BUILDS: i64 = 50;

/// The part of a resource's versions that a page shows.
pub(super) struct VersionList<'a> {
    pub(super) resource: &'a Resource,
    /// Address of the list, with its filters.
    pub(super) here: String,
    pub(super) listed: ListPage,
    pub(super) filter: VersionFilter,
}

/// Rows and the addresses of their neighbours.
pub(super) struct VersionRows {
    pub(super) rows: Vec<VersionRow>,
    pub(super) newer: Option<String>,
    pub(super) older: Option<String>,
}

/// Returns the pairs that versions must have. A value without a key is that of the only key.
pub(super) async fn filter(
    state: &ApiState,
    resource: ResourceId,
    filters: &[String],
) -> Result<VersionFilter> {
    let mut pairs = Version::default();
    for filter in filters {
        if let Some((key, value)) = filter.split_once(':') {
            pairs.0.insert(key.to_owned(), value.to_owned());
            continue;
        }
        let latest = state.store.latest_version(resource).await?;
        let version = latest.map(|(_, version)| version).unwrap_or_default();
        if let (1, Some(key)) = (version.0.len(), version.0.into_keys().next()) {
            pairs.0.insert(key, filter.clone());
        }
    }
    Ok(pairs)
}

pub(super) async fn rows(
    state: &ApiState,
    request: &PageRequest,
    list: &VersionList<'_>,
    now: Micros,
) -> Result<VersionRows> {
    let store = &state.store;
    let (resource, listed) = (list.resource, list.listed);
    let page = VersionPage {
        limit: listed.limit,
        from: listed.from.map(ResourceVersionId),
        to: listed.to.map(ResourceVersionId),
    };
    let versions = store.versions(resource.id, &list.filter, page).await?;
    let (newer, older) = match (versions.first(), versions.last()) {
        (Some(newest), Some(oldest)) => {
            let beyond = store.versions_beyond(resource.id, newest.order, oldest.order);
            beyond.await?
        }
        _ => (None, None),
    };
    let ids: Vec<_> = versions.iter().map(|version| version.id).collect();
    let mut uses: HashMap<_, Vec<_>> = HashMap::new();
    for one in store.version_uses(&ids).await? {
        uses.entry(one.version).or_default().push(one);
    }
    let opened = opened(request);
    let mut rows = Vec::new();
    for version in versions {
        let mut row = row(request, list, &version, &opened)?;
        let uses = uses.remove(&version.id).unwrap_or_default();
        row.went = uses
            .into_iter()
            .map(|one| job(request, one))
            .collect::<Result<_>>()?;
        if opened.contains(&version.id.0) {
            row.opened = Some(details(state, request, resource, version.id, now).await?);
        }
        rows.push(row);
    }
    Ok(VersionRows {
        rows,
        newer: newer.map(|id| listed.link(&list.here, "from", id.0)),
        older: older.map(|id| listed.link(&list.here, "to", id.0)),
    })
}

/// Returns the versions that the address wants opened.
fn opened(request: &PageRequest) -> HashSet<i64> {
    let open = request.query("open").unwrap_or_default();
    let ids = open.split(',').filter_map(|id| id.parse().ok());
    ids.take(MAX_OPENED).collect()
}

fn row(
    request: &PageRequest,
    list: &VersionList<'_>,
    version: &ResourceVersion,
    opened: &HashSet<i64>,
) -> Result<VersionRow> {
    let scope = &request.scope;
    let resource = list.resource;
    let whole = present::resource::is_public(resource) || scope.can_view(scope.team()?);
    let id = version.id.0.to_string();
    let url = |rest| {
        let pipeline = scope.pipeline()?;
        let path = ["resources", &resource.name, "versions", &id, rest];
        Ok::<_, crate::error::ApiError>(api_url(pipeline, &path))
    };
    let is_pinned = resource
        .pin
        .as_ref()
        .is_some_and(|pin| version.version.contains(&pin.version));
    let (action, enable) = if version.enabled {
        (
            Action::DisableResourceVersion,
            SendButton::small("PUT", url("disable")?, "Enabled", "").state("aria-pressed", "true"),
        )
    } else {
        (
            Action::EnableResourceVersion,
            SendButton::small("PUT", url("enable")?, "Enabled", "").state("aria-pressed", "false"),
        )
    };
    let enable = enable.class("box").parts(PARTS);
    let pin = pin_button(resource, is_pinned, &url("pin")?, || {
        let pipeline = scope.pipeline()?;
        Ok(api_url(pipeline, &["resources", &resource.name, "unpin"]))
    })?;
    let mut shown = opened.clone();
    if !shown.remove(&version.id.0) {
        shown.insert(version.id.0);
    }
    Ok(VersionRow {
        id: version.id.0,
        version: version.version.clone(),
        enabled: version.enabled,
        is_pinned,
        metadata: if whole {
            version.metadata.clone()
        } else {
            Vec::new()
        },
        enable: request.offer(action, enable),
        pin: pin.and_then(|(action, button)| request.offer(action, button.parts(PARTS))),
        toggle: toggle(&list.here, &shown, version.id.0),
        ..VersionRow::default()
    })
}

/// Returns the button to pin or unpin a version; none where the configuration pins the resource.
fn pin_button(
    resource: &Resource,
    is_pinned: bool,
    pin: &str,
    unpin: impl FnOnce() -> Result<String>,
) -> Result<Option<(Action, SendButton)>> {
    if resource.pin.as_ref().is_some_and(|pin| pin.in_config) {
        return Ok(None);
    }
    Ok(Some(if is_pinned {
        (
            Action::UnpinResource,
            SendButton::small("PUT", unpin()?, "Unpin", "i-pin")
                .class("icon-btn icon-btn-24 pin-btn is-on")
                .state("aria-pressed", "true"),
        )
    } else {
        (
            Action::PinResourceVersion,
            SendButton::small("PUT", pin.to_owned(), "Pin", "i-pin")
                .class("icon-btn icon-btn-24 pin-btn")
                .state("aria-pressed", "false"),
        )
    }))
}

/// Returns the address of the list with other versions opened.
fn toggle(here: &str, opened: &HashSet<i64>, version: i64) -> String {
    let mut ids: Vec<_> = opened.iter().map(i64::to_string).collect();
    ids.sort_unstable();
    let joint = if here.contains('?') { '&' } else { '?' };
    if ids.is_empty() {
        format!("{here}#v{version}")
    } else {
        format!("{here}{joint}open={}#v{version}", ids.join(","))
    }
}

fn job(request: &PageRequest, one: VersionUse) -> Result<VersionJob> {
    let rest = ["jobs", &one.job_name, "builds", &one.build_name];
    Ok(VersionJob {
        href: pipeline_url(request.scope.pipeline()?, &rest),
        status: PageStatus::from(one.status),
        job: one.job_name,
    })
}

async fn details(
    state: &ApiState,
    request: &PageRequest,
    resource: &Resource,
    version: ResourceVersionId,
    now: Micros,
) -> Result<OpenedVersion> {
    let pipeline = request.scope.pipeline()?;
    let shown = |builds: Vec<Build>| builds.iter().map(|one| build(one, now)).collect();
    let inputs_to = state.store.builds_with_input(version, MAX_BUILDS).await?;
    let outputs_of = state.store.builds_with_output(version, MAX_BUILDS).await?;
    let id = version.0.to_string();
    let causality = |direction| {
        let path = ["resources", &resource.name, "causality", &id, direction];
        pipeline_url(pipeline, &path)
    };
    Ok(OpenedVersion {
        inputs_to: shown(inputs_to),
        outputs_of: shown(outputs_of),
        downstream: causality("downstream"),
        upstream: causality("upstream"),
    })
}

fn build(build: &Build, now: Micros) -> VersionBuild {
    let job = build.job_name.as_deref().unwrap_or("build");
    VersionBuild {
        name: format!("{job} #{}", build.name),
        href: build_url(build),
        status: PageStatus::from(build.status),
        when: build.started_at.map(|at| shown_time(at, now)),
    }
}
