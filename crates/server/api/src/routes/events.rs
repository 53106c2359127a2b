//! A build's events as they come, as server-sent events.
//!
//! After the last event the connection stays open until the client leaves: browsers would connect
//! again otherwise.

use std::{
    io::{self, Write as _},
    mem,
};

use airside_logs::LogEntry;
use airside_model::{
    BuildId, PlanId, chain,
    event::{Event, Origin},
};
use airside_store::Build;
use axum::{
    Extension,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY},
};
use tokio_util::sync::CancellationToken;

use crate::{
    ApiState,
    error::{ApiError, Result},
    scope::RequestScope,
};

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
    (CACHE_CONTROL, "no-cache, no-store, must-revalidate"),
    (VARY, "accept-encoding"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
    (HeaderName::from_static("x-atc-stream-version"), "2.0"),
];

pub(super) async fn follow(
    State(state): State<ApiState>,
    scope: RequestScope,
    shutdown: Option<Extension<CancellationToken>>,
    headers: HeaderMap,
) -> Result<Response> {
    let build = scope.build()?;
    let from = first_wanted(&headers)?;
    let shutdown = shutdown
        .map(|Extension(shutdown)| shutdown)
        .unwrap_or_default();
    // To fly a body that ends in order is a build that has ended, well; one that is cut brings it
    // back.
    let cut = stream::once(async { Err(io::Error::other("the server stops")) });
    let entries = match reaped(build, from) {
        Some(entries) => stream::iter((!entries.is_empty()).then_some(Ok(entries))).boxed(),
        None => state.logs.follow_batches(build.id, from),
    };
    let frames = frames(entries, build.id, from)
        .take_until(shutdown.cancelled_owned())
        .chain(cut);
    let mut response = if accepts_gzip(&headers) {
        let mut response = Body::from_stream(gzipped(frames)).into_response();
        response
            .headers_mut()
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
    } else {
        Body::from_stream(frames).into_response()
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A client that was cut off says what it saw last.
fn first_wanted(headers: &HeaderMap) -> Result<u64> {
    let Some(last) = headers.get("last-event-id").filter(|last| !last.is_empty()) else {
        return Ok(0);
    };
    let last: Option<u64> = last.to_str().ok().and_then(|last| last.trim().parse().ok());
    last.and_then(|last| last.checked_add(1))
        .ok_or_else(|| ApiError::BadRequest("Last-Event-ID is not a number".to_owned()))
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        gzip && !parts.any(|part| part.trim_start_matches("q=").parse() == Ok(0.0))
    })
}

/// Returns the events of a build whose log was removed: that it was, and the build's status.
fn reaped(build: &Build, from: u64) -> Option<Vec<LogEntry>> {
    let reaped_at = build.reaped_at?;
    let origin = Origin::step(&PlanId::new(""));
    let events = [
        Event::Log {
            time: reaped_at.seconds(),
            origin,
            payload: "this build's log was removed, as the retention of build logs says\n"
                .to_owned(),
        },
        Event::Status {
            status: build.status,
            time: build.ended_at.unwrap_or(reaped_at).seconds(),
        },
    ];
    let entries = (0..).zip(events).map(|(id, event)| LogEntry {
        id,
        envelope: event.envelope(id).into(),
    });
    Some(entries.filter(|entry| entry.id >= from).collect())
}

/// Frames events. Those that are there at the same time go out in one piece: none waits.
fn frames(
    batches: BoxStream<'static, airside_logs::Result<Vec<LogEntry>>>,
    build: BuildId,
    from: u64,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::unfold(
        (batches, from, false),
        move |(mut batches, mut next, ended)| async move {
            if ended {
                return std::future::pending().await;
            }
            match batches.next().await {
                Some(Ok(entries)) => {
                    next = entries.last().map_or(next, |last| last.id + 1);
                    Some((Ok(framed(&entries)), (batches, next, false)))
                }
                Some(Err(error)) => {
                    tracing::error!(%build, error = %chain(&error), "events of a build not read");
                    // A cut connection: the client comes back for what it has not seen.
                    let cut = io::Error::other("the log cannot be read");
                    Some((Err(cut), (batches, next, true)))
                }
                None => {
                    let end = Bytes::from(format!("id: {next}\nevent: end\ndata\n\n"));
                    Some((Ok(end), (batches, next, true)))
                }
            }
        },
    )
}

/// Entries as the event stream has them.
fn framed(entries: &[LogEntry]) -> Bytes {
    /// The words around an entry, and its number.
    const AROUND: usize = 48;
    let lengths = entries.iter().map(|entry| entry.envelope.as_bytes().len());
    let mut frames = Vec::with_capacity(lengths.map(|length| length + AROUND).sum());
    for LogEntry { id, envelope } in entries {
        // Memory takes what is written to it.
        let _ = write!(frames, "id: {id}\nevent: event\ndata: ");
        frames.extend_from_slice(envelope.as_bytes());
        frames.extend_from_slice(b"\n\n");
    }
    frames.into()
}

/// Flushes after each piece, so that no client waits for the compressor to fill up.
fn gzipped(
    frames: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    frames.map(move |frame| {
        encoder.write_all(&frame?)?;
        encoder.flush()?;
        Ok(Bytes::from(mem::take(encoder.get_mut())))
    })
}
