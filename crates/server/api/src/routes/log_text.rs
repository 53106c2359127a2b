//! The raw text of a build's output: what was printed, with escape sequences and all.

use std::{fmt::Write as _, io};

use airside_lines::PrintedText;
use airside_logs::LogReader;
use airside_model::chain;
use axum::{
    body::Body,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{
    HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use serde::Deserialize;

use super::lines::{checked_step, is_set};
use crate::{ApiState, error::Result, scope::RequestScope};

const REMOVED: &str = "this build's log was removed, as the retention of build logs says\n";

#[derive(Deserialize)]
pub(super) struct TextQuery {
    step: Option<String>,
    time: Option<String>,
}

pub(super) async fn stream_text(
    State(state): State<ApiState>,
    scope: RequestScope,
    Query(query): Query<TextQuery>,
) -> Result<Response> {
    let build = scope.build()?;
    let step = checked_step(query.step)?;
    let body = if build.reaped_at.is_some() {
        Body::from(REMOVED)
    } else {
        Body::from_stream(raw_text(RawText {
            reader: state.lines.reader(build.id),
            step,
            with_time: is_set(query.time.as_deref()),
            in_line: false,
        }))
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    let name = format!("inline; filename=\"build-{}.txt\"", build.id);
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The printed text that was read so far.
struct RawText {
    reader: LogReader,
    step: Option<String>,
    with_time: bool,
    /// The last line has not ended.
    in_line: bool,
}

/// Reads a piece whenever the client has taken the one before.
fn raw_text(text: RawText) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let pieces = stream::unfold(Some(text), |text| async move {
        let mut text = text?;
        let read = airside_tasks::blocking("text of a build's log", move || {
            let piece = text.next_piece();
            (text, piece)
        });
        match read.await {
            Ok((_, Ok(None))) => None,
            Ok((text, Ok(Some(piece)))) => Some((Ok(piece.into()), Some(text))),
            Ok((_, Err(error))) => {
                tracing::error!(error = %chain(&error), "text of a build's log not read");
                Some((Err(io::Error::other("the log cannot be read")), None))
            }
            Err(_) => Some((Err(io::Error::other("reading the log failed")), None)),
        }
    });
    // What compresses it asks once more after its end.
    pieces.fuse()
}

impl RawText {
    /// The text of some entries; none at the end of what is there.
    fn next_piece(&mut self) -> airside_logs::Result<Option<String>> {
        loop {
            let entries = self.reader.read()?;
            if entries.is_empty() {
                return Ok(None);
            }
            let mut piece = String::new();
            for entry in &entries {
                if let Some(printed) = PrintedText::read(entry, self.step.as_deref()) {
                    self.push(&printed, &mut piece);
                }
            }
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
    }

    fn push(&mut self, printed: &PrintedText, piece: &mut String) {
        if !self.with_time {
            piece.push_str(&printed.text);
            return;
        }
        let time = jiff::Timestamp::from_second(printed.time).unwrap_or_default();
        for line in printed.text.split_inclusive('\n') {
            if !self.in_line {
                // Memory takes what is written to it.
                let _ = write!(piece, "{time} ");
            }
            piece.push_str(line);
            self.in_line = !line.ends_with('\n');
        }
    }
}
