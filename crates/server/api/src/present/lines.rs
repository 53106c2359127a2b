//! Lines of output, and hits in them. Ours: Concourse has nothing like it.

use airside_lines::{BuildSteps, FindHit, FindPart, OutputLine, StepWindow};
use airside_terminal::{TerminalColor, TerminalStyle};
use serde_json::{Value, json};

use super::Fields;

/// The steps of a build that have lines: id, number of lines, and true if the step has ended.
pub(crate) fn steps(steps: &BuildSteps) -> Value {
    let shown = steps.steps.iter();
    let shown = shown.map(|step| json!([step.id, step.total, step.ended]));
    Fields::default()
        .with("steps", shown.collect::<Vec<Value>>())
        .with("closed", steps.closed)
        .maybe("partial", steps.partial)
        .done()
}

/// A window of lines. `from` is the number of its first line.
pub(crate) fn window(step: &str, window: &StepWindow) -> Fields {
    let rows = window.lines.iter().map(line);
    Fields::default()
        .with("step", step)
        .with("from", window.from)
        .with("rows", rows.collect::<Vec<Value>>())
        .with("total", window.total)
        .with("settled", window.settled)
        .with("ended", window.ended)
        .with("closed", window.closed)
        .maybe("error", window.error.clone())
        .maybe("partial", window.partial)
}

/// A line: Unix milliseconds, pieces of text, and the number of characters cut off, if any.
fn line(line: &OutputLine) -> Value {
    let spans = line.spans.iter().map(|(text, style)| span(text, style));
    let spans: Vec<Value> = spans.collect();
    let time = line.time.saturating_mul(1000);
    match line.cut {
        0 => json!([time, spans]),
        cut => json!([time, spans, cut]),
    }
}

/// A piece of text, and its style if it has one.
fn span(text: &str, style: &TerminalStyle) -> Value {
    let fields = Fields::default()
        .with_color("f", style.foreground)
        .with_color("b", style.background)
        .maybe("a", style.attributes.bits())
        .maybe("l", style.link.as_deref())
        .done();
    match fields {
        Value::Object(fields) if fields.is_empty() => json!([text]),
        fields => json!([text, fields]),
    }
}

impl Fields {
    /// A colour: a number of xterm's palette, or `#rrggbb`.
    fn with_color(self, name: &str, color: Option<TerminalColor>) -> Self {
        match color {
            None => self,
            Some(TerminalColor::Indexed(number)) => self.with(name, number),
            Some(TerminalColor::Rgb(red, green, blue)) => {
                self.with(name, format!("#{red:02x}{green:02x}{blue:02x}"))
            }
        }
    }
}

/// A part of a search's answer: a hit is a list, the end is an object.
pub(crate) fn found(part: &FindPart) -> Value {
    match part {
        FindPart::Hit(FindHit { step, line, marks }) => json!([&**step, line, marks]),
        FindPart::End(next) => json!({"after": next.map(|next| next.to_string())}),
    }
}
