//! Pages of builds, newest first, and the links to their neighbours.

use airside_model::BuildId;
use airside_store::{Build, BuildFilter, BuildPage, Store};
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
};

/// The most that one response holds, however much is asked for.
const LARGEST: i64 = 5000;
const DEFAULT: i64 = 100;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct PageQuery {
    limit: Option<i64>,
    from: Option<i64>,
    to: Option<i64>,
    timestamps: Option<String>,
}

impl PageQuery {
    fn page(&self) -> Result<BuildPage> {
        if self.timestamps.is_some() {
            return Err(ApiError::NotImplemented(
                "listing builds by time".to_owned(),
            ));
        }
        let given = |id: Option<i64>| id.filter(|id| *id > 0).map(BuildId);
        let limit = self
            .limit
            .filter(|limit| *limit > 0)
            .unwrap_or(DEFAULT)
            .min(LARGEST);
        Ok(BuildPage {
            limit,
            from: given(self.from),
            to: given(self.to),
        })
    }
}

/// One page of the builds that any of the filters lets through, with its links.
pub(crate) async fn builds(
    state: &ApiState,
    uri: &Uri,
    query: &PageQuery,
    filters: &[BuildFilter],
) -> Result<Response> {
    let page = query.page()?;
    let builds = merged(&state.store, filters, page).await?;
    let mut headers = HeaderMap::new();
    if let (Some(newest), Some(oldest)) = (builds.first(), builds.last()) {
        let newer = BuildPage {
            limit: 1,
            from: Some(BuildId(newest.id.0 + 1)),
            to: None,
        };
        let older = BuildPage {
            limit: 1,
            from: None,
            to: Some(BuildId(oldest.id.0 - 1)),
        };
        for (neighbour, key, rel) in [(newer, "from", "previous"), (older, "to", "next")] {
            if let Some(build) = merged(&state.store, filters, neighbour).await?.first() {
                let (base, path, id, limit) =
                    (&state.external_url, uri.path(), build.id, page.limit);
                let vars = instance_query(uri);
                let link = format!("<{base}{path}?{key}={id}&limit={limit}{vars}>; rel=\"{rel}\"");
                let link = HeaderValue::try_from(link)
                    .map_err(|_| ApiError::Internal("the external URL is not a URL"))?;
                headers.append(LINK, link);
            }
        }
    }
    let shown: Vec<_> = builds.iter().map(present::build::build).collect();
    Ok((headers, Json(shown)).into_response())
}

/// Asks for a page of each and keeps what one page of all would hold. The filters may not overlap.
async fn merged(store: &Store, filters: &[BuildFilter], page: BuildPage) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for filter in filters {
        builds.extend(store.builds(filter, page).await?);
    }
    builds.sort_by_key(|build| std::cmp::Reverse(build.id));
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    if page.from.is_some() && page.to.is_none() {
        // Paging towards newer builds: those nearest to `from`.
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
