//! Pages of builds, newest first, and the links to their neighbours.

use std::collections::HashSet;

use airside_model::{BuildId, TeamId};
use airside_store::{Build, BuildFilter, BuildPage, BuildRange, Micros, Store};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Uri, header::LINK};
use serde::Deserialize;

use crate::{
    ApiState,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

/// The most that one response holds, however much is asked for.
const LARGEST: i64 = 5000;
const DEFAULT: i64 = 100;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct PageQuery {
    limit: Option<i64>,
    from: Option<i64>,
    to: Option<i64>,
    /// Anything at all: `from` and `to` are seconds since 1970, not ids.
    timestamps: Option<String>,
}

impl PageQuery {
    pub(crate) fn limit(&self) -> i64 {
        self.limit
            .filter(|limit| *limit > 0)
            .unwrap_or(DEFAULT)
            .min(LARGEST)
    }

    pub(crate) fn from(&self) -> Option<i64> {
        self.from.filter(|id| *id > 0)
    }

    pub(crate) fn to(&self) -> Option<i64> {
        self.to.filter(|id| *id > 0)
    }

    fn page(&self) -> BuildPage {
        let limit = self.limit();
        let by_time = self.timestamps.as_deref().is_some_and(|it| !it.is_empty());
        let range = if by_time {
            let time = |seconds: i64| Micros(seconds.saturating_mul(1_000_000));
            BuildRange::Started {
                from: self.from.map(time),
                to: self.to.map(time),
            }
        } else {
            BuildRange::Ids {
                from: self.from().map(BuildId),
                to: self.to().map(BuildId),
            }
        };
        BuildPage { limit, range }
    }
}

/// One page of the builds that any of the filters lets through, with its links. A page by time has
/// none, as Concourse gives none.
pub(crate) async fn builds(
    state: &ApiState,
    scope: &RequestScope,
    uri: &Uri,
    query: &PageQuery,
    filters: &[BuildFilter],
) -> Result<Response> {
    let page = query.page();
    let mut builds = merged(&state.store, filters, page).await?;
    let by_id = matches!(page.range, BuildRange::Ids { .. });
    let mut neighbours = Vec::new();
    if by_id {
        let (newer, older) = beyond(&state.store, filters, &builds).await?;
        neighbours.extend(newer.map(|id| ("from", id.0, "previous")));
        neighbours.extend(older.map(|id| ("to", id.0, "next")));
    }
    let headers = links(state, uri, page.limit, neighbours)?;
    hide_people(state, scope, &mut builds).await?;
    let shown: Vec<_> = builds.iter().map(present::build::build).collect();
    Ok((headers, Json(shown)).into_response())
}

/// Returns the nearest builds beyond a page's ends, newer and older.
pub(crate) async fn beyond(
    store: &Store,
    filters: &[BuildFilter],
    builds: &[Build],
) -> Result<(Option<BuildId>, Option<BuildId>)> {
    let (Some(newest), Some(oldest)) = (builds.first(), builds.last()) else {
        return Ok((None, None));
    };
    let newer = BuildRange::Ids {
        from: Some(newest.id),
        to: None,
    };
    let older = BuildRange::Ids {
        from: None,
        to: Some(oldest.id),
    };
    let mut found = [None, None];
    for (slot, (range, end)) in found
        .iter_mut()
        .zip([(newer, newest.id), (older, oldest.id)])
    {
        // The end itself, and what stands next to it.
        let both = merged(store, filters, BuildPage { limit: 2, range }).await?;
        *slot = both
            .iter()
            .find(|build| build.id != end)
            .map(|build| build.id);
    }
    let [newer, older] = found;
    Ok((newer, older))
}

/// Leaves out the user who began a build, unless the caller belongs to its team.
pub(crate) async fn hide_people(
    state: &ApiState,
    scope: &RequestScope,
    builds: &mut [Build],
) -> Result<()> {
    if builds.iter().all(|build| build.created_by.is_none()) {
        return Ok(());
    }
    let teams = state.store.teams().await?;
    let viewed: HashSet<TeamId> = teams
        .iter()
        .filter(|team| scope.can_view(team))
        .map(|team| team.id)
        .collect();
    for build in builds.iter_mut() {
        build.created_by = build
            .created_by
            .take()
            .filter(|_| viewed.contains(&build.team));
    }
    Ok(())
}

/// Links to the pages before and behind: the query's key, the id there, and what it is to this
/// page.
pub(crate) fn links(
    state: &ApiState,
    uri: &Uri,
    limit: i64,
    neighbours: Vec<(&str, i64, &str)>,
) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let (base, path, vars) = (&state.external_url, uri.path(), instance_query(uri));
    for (key, id, rel) in neighbours {
        let link = format!("<{base}{path}?{key}={id}&limit={limit}{vars}>; rel=\"{rel}\"");
        let link = HeaderValue::try_from(link)
            .map_err(|_| ApiError::Internal("the external URL is not a URL"))?;
        headers.append(LINK, link);
    }
    Ok(headers)
}

/// Asks for a page of each and keeps what one page of all would hold. The filters may not overlap.
pub(crate) async fn merged(
    store: &Store,
    filters: &[BuildFilter],
    page: BuildPage,
) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for filter in filters {
        builds.extend(store.builds(filter, page).await?);
    }
    builds.sort_by_key(|build| std::cmp::Reverse(build.place()));
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    if page.range.is_upwards() {
        builds.drain(..builds.len().saturating_sub(limit));
    }
    builds.truncate(limit);
    Ok(builds)
}

/// The part of a query that tells pipelines of one name apart, as it came.
fn instance_query(uri: &Uri) -> String {
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs
        .filter(|pair| pair.starts_with("vars.") || pair.starts_with("vars="))
        .map(|pair| format!("&{pair}"))
        .collect()
}
