//! Problems and warnings with the lines they are in, underlined.

use airside_yaml::Span;

use crate::{Problem, Warning};

impl Problem {
    /// Several lines for a terminal, without colours. `text` must be what was loaded.
    pub fn render(&self, text: &str, file_name: &str) -> String {
        let line = self.span.and_then(|span| nth_line(text.lines(), span));
        self.remark().render(line.unwrap_or_default(), file_name)
    }

    fn remark(&self) -> Remark<'_> {
        Remark {
            kind: "error",
            message: &self.message,
            path: self.path.as_deref(),
            span: self.span,
        }
    }
}

impl Warning {
    fn remark(&self) -> Remark<'_> {
        Remark {
            kind: "warning",
            message: &self.message,
            path: None,
            span: self.span,
        }
    }
}

/// Something to say about a place.
struct Remark<'a> {
    kind: &'static str,
    message: &'a str,
    path: Option<&'a str>,
    span: Option<Span>,
}

impl Remark<'_> {
    fn render(&self, line: &str, file_name: &str) -> String {
        let mut shown = format!("{}: {}\n", self.kind, self.message);
        let Some(span) = self.span else {
            let path = self.path.map(|path| format!(": {path}"));
            let path = path.unwrap_or_default();
            shown.push_str(&format!("  --> {file_name}{path}\n"));
            return shown;
        };
        let start = span.start;
        let path = self.path.map(|path| format!(" ({path})"));
        let path = path.unwrap_or_default();
        // A span over several lines is underlined to the end of its first.
        let end = if span.end.line == start.line {
            span.end.column
        } else {
            line.chars().count() + 1
        };
        let excerpt = Excerpt::cut(line, start.column, end);
        let number = start.line.to_string();
        let margin = " ".repeat(number.len());
        shown.push_str(&format!(
            "{margin}--> {file_name}:{}:{}{path}\n{margin} |\n{number} | {}\n{margin} | {}{}\n",
            start.line,
            start.column,
            excerpt.text,
            " ".repeat(excerpt.indent),
            "^".repeat(excerpt.width),
        ));
        shown
    }
}

fn nth_line<'t>(mut lines: impl Iterator<Item = &'t str>, span: Span) -> Option<&'t str> {
    lines.nth(span.start.line.saturating_sub(1))
}

/// All problems of one text, one after the other.
pub fn render_all(problems: &[Problem], text: &str, file_name: &str) -> String {
    render(problems.iter().map(Problem::remark), text, file_name)
}

/// All warnings about one text, one after the other.
pub fn render_warnings(warnings: &[Warning], text: &str, file_name: &str) -> String {
    render(warnings.iter().map(Warning::remark), text, file_name)
}

fn render<'r>(remarks: impl Iterator<Item = Remark<'r>>, text: &str, file_name: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = String::new();
    for remark in remarks {
        let line = remark
            .span
            .and_then(|span| nth_line(lines.iter().copied(), span));
        shown.push_str(&remark.render(line.unwrap_or_default(), file_name));
        shown.push('\n');
    }
    shown
}

/// The part of a line that is shown: all of it, unless it is very long.
struct Excerpt {
    text: String,
    indent: usize,
    width: usize,
}

/// JSON may be one line of any length.
const MAX_LINE_CHARS: usize = 160;
const BEFORE: usize = 40;

impl Excerpt {
    /// Columns are counted from 1, in characters.
    fn cut(line: &str, start: usize, end: usize) -> Self {
        let start = start.saturating_sub(1);
        let width = end.saturating_sub(start + 1).max(1);
        let skipped = if start < MAX_LINE_CHARS {
            0
        } else {
            start - BEFORE
        };
        let text = line.chars().skip(skipped).take(MAX_LINE_CHARS);
        let indent = start - skipped;
        Self {
            text: text.map(|c| if c == '\t' { ' ' } else { c }).collect(),
            indent,
            width: width.min(MAX_LINE_CHARS.saturating_sub(indent)).max(1),
        }
    }
}
