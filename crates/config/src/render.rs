//! A problem with the line it is in, underlined.

use crate::Problem;

impl Problem {
    /// Several lines for a terminal, without colours. `text` must be what was loaded.
    pub fn render(&self, text: &str, file_name: &str) -> String {
        let mut shown = format!("error: {}\n", self.message);
        let Some(span) = self.span else {
            let path = self
                .path
                .as_ref()
                .map(|path| format!(": {path}"))
                .unwrap_or_default();
            shown.push_str(&format!("  --> {file_name}{path}\n"));
            return shown;
        };
        let start = span.start;
        let path = self
            .path
            .as_ref()
            .map(|path| format!(" ({path})"))
            .unwrap_or_default();
        let line = text
            .lines()
            .nth(start.line.saturating_sub(1))
            .unwrap_or_default();
        // A span over several lines is underlined to the end of its first.
        let line_length = line.chars().count();
        let end = if span.end.line == start.line {
            span.end.column
        } else {
            line_length + 1
        };
        let width = end.saturating_sub(start.column).max(1);
        let number = start.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(start.column.saturating_sub(1));
        let line = line.replace('\t', " ");
        shown.push_str(&format!(
            "{margin}--> {file_name}:{}:{}{path}\n{margin} |\n{number} | {line}\n{margin} | {indent}{}\n",
            start.line,
            start.column,
            "^".repeat(width),
        ));
        shown
    }
}
