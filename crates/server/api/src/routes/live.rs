//! Changes of all that a browser shows, as server-sent events: one stream for all its tabs.
//!
//! Access is judged when the stream opens, when teams or pipelines change, and every minute.

mod judge;

use std::{collections::HashSet, io};

use airside_live::{LiveReader, LiveRequest, LiveStep, LiveTopic};
use airside_model::chain;
use axum::{
    Extension,
    body::Body,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{
    ApiState,
    error::{ApiError, Result},
    guard::authenticate,
    live_limits::LiveTurn,
    scope::RequestScope,
    serve::CameFrom,
};

const HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];

#[derive(Deserialize)]
pub(super) struct LiveQuery {
    #[serde(default)]
    topics: String,
}

/// One stream, until its client leaves.
struct Session {
    state: ApiState,
    /// The request's, with the token that has to stay good.
    headers: HeaderMap,
    is_logged_in: bool,
    topics: Vec<LiveTopic>,
    /// Topics that were allowed once: if they are not there any more, that may be said.
    allowed: HashSet<LiveTopic>,
    reader: LiveReader,
    _turn: LiveTurn,
}

pub(super) async fn follow(
    State(state): State<ApiState>,
    scope: RequestScope,
    from: CameFrom,
    shutdown: Option<Extension<CancellationToken>>,
    headers: HeaderMap,
    Query(query): Query<LiveQuery>,
) -> Result<Response> {
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| last.to_str().ok());
    let request = LiveRequest::parse(&query.topics, last)
        .map_err(|error| ApiError::BadRequest(chain(&error)))?;
    let principal = scope.principal();
    let user = principal.map(|principal| principal.sub());
    let turn = state.live_limits.enter(user, from.peer());
    let turn = turn.inspect_err(|_| state.metrics.live_refused())?;
    let topics: Vec<LiveTopic> = request.topics().collect();
    let mut allowed = HashSet::new();
    let rights = judge::rights(&state.store, principal, &topics, &mut allowed).await?;
    let session = Session {
        headers,
        is_logged_in: principal.is_some(),
        topics,
        allowed,
        reader: state.live.open(&request, rights),
        _turn: turn,
        state,
    };
    let shutdown = shutdown
        .map(|Extension(shutdown)| shutdown)
        .unwrap_or_default();
    let events = stream::unfold(session, |mut session| async move {
        let event = session.next().await?;
        Some((Ok::<Bytes, io::Error>(event), session))
    });
    let events = events.take_until(shutdown.cancelled_owned());
    let mut response = Body::from_stream(events).into_response();
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

impl Session {
    /// Returns the next event. `None`: the caller may not follow any more, and comes back with
    /// another token.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.reader.next().await {
                LiveStep::Send(event) => return Some(event),
                LiveStep::Judge => {
                    if let Err(error) = self.judge().await {
                        debug!(error = %chain(&error), "live stream ended");
                        return None;
                    }
                }
            }
        }
    }

    async fn judge(&mut self) -> Result<()> {
        let store = &self.state.store;
        let principal = authenticate(&self.state, &Method::GET, &self.headers).await?;
        if principal.is_none() && self.is_logged_in {
            return Err(ApiError::Unauthenticated);
        }
        let principal = principal.as_ref();
        let rights = judge::rights(store, principal, &self.topics, &mut self.allowed).await?;
        self.reader.judged(rights);
        Ok(())
    }
}
