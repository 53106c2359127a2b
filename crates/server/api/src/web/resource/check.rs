//! The last check of a resource, and how its configuration has it checked.

use std::time::Duration;

use airside_auth::Action;
use airside_config::Config;
use airside_model::{BuildId, BuildStatus, chain};
use airside_store::{CheckSummary, ChecksOf, Micros, Resource};
use airside_ui::{CheckNote, PageStatus, RowTime};
use futures::StreamExt as _;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{
    ApiState,
    error::{ApiError, Result},
    web::{PageRequest, place::shown_time},
};

/// The most events that are read of a check's log, and the most lines of it that are shown.
const MAX_EVENTS: usize = 2_000;
const MAX_LINES: usize = 100;
/// The most characters of a line.
const MAX_LINE: usize = 1_000;

/// Returns the last check. Its output and its build are for members of the team, as in the API.
pub(super) async fn note(
    state: &ApiState,
    request: &PageRequest,
    resource: &Resource,
    now: Micros,
) -> Result<CheckNote> {
    let of = ChecksOf::Resource(resource.id);
    let summaries = state.store.check_summaries(of).await?;
    let Some((_, check)) = summaries.into_iter().next() else {
        return Ok(CheckNote::default());
    };
    let is_running = check.build.is_some_and(|build| build.ended_at.is_none());
    let status = check
        .build
        .map_or(BuildStatus::Succeeded, |build| build.status);
    let mut note = CheckNote {
        status: Some(PageStatus::from(status)),
        when: ended_at(&check).map(|at| shown_time(at, now)),
        took: took(&check, is_running, now),
        ..CheckNote::default()
    };
    if let Some(build) = check.build.filter(|_| request.scope.is_insider()) {
        note.href = Some(format!("/builds/{}", build.id.0));
        if !is_running {
            note.lines = lines(state, build.id).await;
        }
    }
    Ok(note)
}

/// Returns the end of the last check, which may have gone like the build that shows it.
fn ended_at(check: &CheckSummary) -> Option<Micros> {
    check
        .ended_at
        .or_else(|| check.build.and_then(|build| build.ended_at))
}

fn took(check: &CheckSummary, is_running: bool, now: Micros) -> RowTime {
    let (start, end) = match check.build {
        Some(build) if is_running => (build.started_at, None),
        _ => (check.started_at, ended_at(check)),
    };
    let seconds = |time: Option<Micros>| time.map(Micros::seconds);
    RowTime::between(seconds(start), seconds(end), now.seconds())
}

/// Time after which a log is shown as far as it was read: one that was not closed has no end.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// Reads the lines that a check wrote. A log that cannot be read has none: the build's page says
/// so.
async fn lines(state: &ApiState, build: BuildId) -> Vec<(String, bool)> {
    let mut lines = Vec::new();
    let mut entries = state.logs.follow(build, 0).take(MAX_EVENTS);
    let deadline = Instant::now() + READ_TIMEOUT;
    while let Ok(Some(entry)) = timeout_at(deadline, entries.next()).await {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                tracing::debug!(%build, error = %chain(&error), "log of a check not read");
                break;
            }
        };
        let Ok(event) = serde_json::from_str::<Value>(entry.envelope.as_str()) else {
            continue;
        };
        let (text, is_error) = match event["event"].as_str() {
            Some("log") => (event["data"]["payload"].as_str(), false),
            Some("error") => (event["data"]["message"].as_str(), true),
            _ => continue,
        };
        let text = plain(text.unwrap_or_default());
        lines.extend(text.lines().map(|line| (cut(line), is_error)));
        // The last lines say most.
        lines.drain(..lines.len().saturating_sub(MAX_LINES));
    }
    lines
}

fn cut(line: &str) -> String {
    line.chars().take(MAX_LINE).collect()
}

/// Leaves out what speaks to terminals: escape sequences and control characters.
fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.next() == Some('[') => {
                // A sequence ends with a letter, or another character of that range.
                chars.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '\n' | '\t' => written.push(c),
            c if c.is_control() => {}
            c => written.push(c),
        }
    }
    written
}

/// Returns facts of the configuration for those who may read it.
pub(super) async fn facts(
    state: &ApiState,
    request: &PageRequest,
    name: &str,
) -> Result<Vec<(&'static str, String)>> {
    if !request.scope.may(Action::GetConfig) {
        return Ok(Vec::new());
    }
    let pipeline = request.scope.pipeline()?;
    let whole = state.store.pipeline_by_id(pipeline.id).await?;
    let whole = whole.ok_or(ApiError::NotFound)?;
    let config: Config = serde_json::from_value(whole.config)
        .map_err(|_| ApiError::Internal("the stored configuration cannot be read"))?;
    let Some(resource) = config.resource(name) else {
        return Ok(Vec::new());
    };
    let or = |text: &str, otherwise: &str| match text {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    };
    let webhook = if resource.webhook_token.is_empty() {
        "none"
    } else {
        "a webhook may ask for a check"
    };
    Ok(vec![
        ("Type", resource.type_.clone()),
        (
            "Check every",
            or(&resource.check_every, "the server’s default"),
        ),
        (
            "Timeout",
            or(&resource.check_timeout, "the server’s default"),
        ),
        ("Tags", or(&resource.tags.join(", "), "none")),
        ("Webhook", webhook.to_owned()),
    ])
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn hostile_output_is_plain_text() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\r\n\u{7}bell"), "red\nbell");
        assert_eq!(plain("\u{1b}[38;5;1"), "");
        assert_eq!(plain("\u{1b}"), "");
        assert_eq!(plain("<script>"), "<script>");
    }
}
