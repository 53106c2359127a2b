//! Output by lines, for browsers: windows, searches, and the raw text.
//!
//! `GET …/lines` without a step lists the steps that have lines:
//!
//! ```json
//! {"steps": [["5f2a", 41000, false]], "closed": false}
//! ```
//!
//! With `step` it is a window: `from` (the first line is 1) and `count`, or `tail` for the last
//! lines. Fewer lines than asked for may come, so a reader asks again behind the last one.
//!
//! ```json
//! {"step": "5f2a", "from": 1001, "total": 41000, "settled": 40800,
//!  "ended": false, "closed": false,
//!  "rows": [[1763584544000, [["plain"], ["red and bold", {"f": 1, "a": 1}]]]]}
//! ```
//!
//! A row is Unix milliseconds, pieces of text, and the number of characters that were cut off, if
//! any. A style has `f` and `b` (colours: 0 to 255 or `"#rrggbb"`), `a` (bits: 1 bold, 2 faint, 4
//! italic, 8 underlined, 16 inverse, 32 struck) and `l` (a link to the web), each only if it is
//! set. Lines up to `settled` never change any more. `error` is there if the step erred, and
//! `removed` if the log is gone. A long log that was not shown for a while takes a second to be
//! looked at; with `quick=1` the first lines come at once, and `partial` says that all numbers
//! are those so far, so the reader asks again.
//!
//! `GET …/find` streams a line of JSON for each hit and one for the end; `after` of the end is
//! where the next request goes on, or null. Marks are start and length in units of UTF-16.
//!
//! ```json
//! ["5f2a", 1042, [[6, 5]]]
//! {"after": "0-123456"}
//! ```
//!
//! The raw text has a file of its own.

use std::io;

use airside_lines::{
    BadCursor, FindPart, FindQuery, LineRange, MAX_WINDOW_LINES, QueryError, StepWindow,
};
use airside_model::chain;
use axum::{
    Json,
    body::Body,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{HeaderName, HeaderValue, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    ApiState,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
    serve::CameFrom,
};

/// The longest id of a step.
const MAX_STEP_BYTES: usize = 256;

const DEFAULT_LINES: u64 = 500;

/// Number of hits that are written together.
const HITS_AT_ONCE: usize = 64;

#[derive(Deserialize)]
pub(super) struct WindowQuery {
    step: Option<String>,
    from: Option<u64>,
    count: Option<u64>,
    tail: Option<u64>,
    quick: Option<String>,
}

impl WindowQuery {
    fn range(&self) -> Result<LineRange> {
        match (self.from, self.tail) {
            (Some(_), Some(_)) => {
                let why = "a window has either `from` or `tail`".to_owned();
                Err(ApiError::BadRequest(why))
            }
            (_, Some(count)) => Ok(LineRange::Tail(count.min(MAX_WINDOW_LINES))),
            (from, None) => Ok(LineRange::From {
                line: from.unwrap_or(1),
                count: self.count.unwrap_or(DEFAULT_LINES),
            }),
        }
    }
}

pub(super) async fn window(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(query): Query<WindowQuery>,
) -> Result<Json<Value>> {
    let build = scope.build()?;
    let range = query.range()?;
    let removed = build.reaped_at.is_some();
    let quick = is_set(query.quick.as_deref());
    let Some(step) = checked_step(query.step)? else {
        let steps = if removed {
            json!({"steps": [], "closed": true, "removed": true})
        } else {
            present::lines::steps(&state.lines.steps(build.id, quick).await?)
        };
        return Ok(Json(steps));
    };
    let window = if removed {
        StepWindow::removed()
    } else {
        let step = step.clone();
        state.lines.window(build.id, step, range, quick).await?
    };
    let shown = present::lines::window(&step, &window).maybe("removed", removed);
    Ok(Json(shown.done()))
}

/// Returns the id of a step, as the query has it.
pub(super) fn checked_step(step: Option<String>) -> Result<Option<String>> {
    if step
        .as_ref()
        .is_some_and(|step| step.len() > MAX_STEP_BYTES)
    {
        let why = format!("the id of a step has at most {MAX_STEP_BYTES} bytes");
        return Err(ApiError::BadRequest(why));
    }
    Ok(step)
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    q: String,
    regex: Option<String>,
    case: Option<String>,
    step: Option<String>,
    after: Option<String>,
}

impl SearchQuery {
    fn query(&self) -> Result<FindQuery> {
        let exact_case = is_set(self.case.as_deref());
        let made = if is_set(self.regex.as_deref()) {
            FindQuery::pattern(&self.q, exact_case)
        } else {
            FindQuery::words(&self.q, exact_case)
        };
        made.map_err(|error: QueryError| ApiError::BadRequest(chain(&error)))
    }
}

/// Returns true if a switch of a query is on.
pub(super) fn is_set(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value, "" | "0" | "false"))
}

pub(super) async fn find(
    State(state): State<ApiState>,
    scope: RequestScope,
    from: CameFrom,
    Query(search): Query<SearchQuery>,
) -> Result<Response> {
    let build = scope.build()?;
    let query = search.query()?;
    let step = checked_step(search.step)?;
    let after = search.after.filter(|after| !after.is_empty());
    let at = after.map_or_else(|| Ok(Default::default()), |after| after.parse());
    let at = at.map_err(|error: BadCursor| ApiError::BadRequest(chain(&error)))?;
    let parts = if build.reaped_at.is_some() {
        let (sender, parts) = mpsc::unbounded_channel();
        // The receiver is there.
        let _ = sender.send(FindPart::End(None));
        parts
    } else {
        let owner = match scope.principal() {
            Some(principal) => format!("user {}", principal.sub()),
            None => format!("address {from}"),
        };
        state.lines.find(build.id, owner, query, step, at).await?
    };
    let mut response = Body::from_stream(json_lines(parts)).into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/x-ndjson; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    Ok(response)
}

/// Writes the parts of a search, those that are there together in one piece.
fn json_lines(
    parts: mpsc::UnboundedReceiver<FindPart>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let pieces = stream::unfold(parts, |mut parts| async move {
        let mut some = Vec::new();
        if parts.recv_many(&mut some, HITS_AT_ONCE).await == 0 {
            return None;
        }
        let lines = some.iter().map(present::lines::found);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        Some((Ok(text.into()), parts))
    });
    // What compresses it asks once more after its end.
    pieces.fuse()
}
