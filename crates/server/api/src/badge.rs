//! A small picture that says how a job or pipeline is doing.

use airside_model::BuildStatus;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

/// Returns the text and the colour of a badge.
fn words(status: Option<BuildStatus>) -> (&'static str, &'static str) {
    match status {
        Some(BuildStatus::Succeeded) => ("passing", "#2d8a4e"),
        Some(BuildStatus::Failed) => ("failing", "#c73a3a"),
        Some(BuildStatus::Errored) => ("errored", "#c2761b"),
        Some(BuildStatus::Aborted) => ("aborted", "#7d5a3c"),
        Some(BuildStatus::Pending | BuildStatus::Started) | None => ("unknown", "#777777"),
    }
}

/// The worst of several: what fails most matters most.
pub(crate) fn worst(statuses: impl Iterator<Item = BuildStatus>) -> Option<BuildStatus> {
    let rank = |status: &BuildStatus| match status {
        BuildStatus::Failed => 4,
        BuildStatus::Errored => 3,
        BuildStatus::Aborted => 2,
        BuildStatus::Succeeded => 1,
        BuildStatus::Pending | BuildStatus::Started => 0,
    };
    statuses.max_by_key(rank)
}

pub(crate) fn badge(title: &str, status: Option<BuildStatus>) -> Response {
    let (text, colour) = words(status);
    let shown: String = title.chars().take(60).collect();
    let width = |text: &str| 12 + 7 * text.chars().count();
    let (left, right) = (width(&shown), width(text));
    let (all, title) = (left + right, escape(&shown));
    let (left_middle, right_middle) = (left / 2, left + right / 2);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{title}: {text}\"><title>{title}: {text}</title>\
         <rect width=\"{all}\" height=\"20\" rx=\"4\" fill=\"#2b2f36\"/>\
         <path d=\"M{left} 0h{inner}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-{inner}z\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" \
         text-anchor=\"middle\"><text x=\"{left_middle}\" y=\"14\">{title}</text>\
         <text x=\"{right_middle}\" y=\"14\">{text}</text></g></svg>",
        inner = right - 4,
    );
    ([(CONTENT_TYPE, "image/svg+xml")], svg).into_response()
}

/// Escapes text and attributes of XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
