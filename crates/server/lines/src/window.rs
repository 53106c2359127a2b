//! A window: some lines of a step that follow each other.

use std::collections::VecDeque;

use airside_logs::{Logs, Result};
use airside_model::BuildId;
use airside_terminal::{Terminal, TerminalRow, TerminalStyle};

use crate::{
    event::{self, Effect},
    index::{BuildIndex, IndexPlace},
};

/// The most lines of a window.
pub const MAX_WINDOW_LINES: u64 = 2000;

/// A window with more text than this ends early. It has one line at least.
pub const MAX_WINDOW_BYTES: usize = 1024 * 1024;

/// Bytes that a piece of text with a style of its own counts for.
const SPAN_BYTES: usize = 48;

/// The lines that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRange {
    /// Lines from a number on, the first being 1.
    From { line: u64, count: u64 },
    /// The last lines.
    Tail(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OutputLine {
    /// Unix seconds.
    pub time: i64,
    pub spans: Vec<(String, TerminalStyle)>,
    /// Number of characters that are not in `spans`, since the line is too long.
    pub cut: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepWindow {
    /// The number of the first line here, the first of the step being 1.
    pub from: u64,
    pub lines: Vec<OutputLine>,
    /// Number of lines so far.
    pub total: u64,
    /// Lines up to this number will not change any more.
    pub settled: u64,
    /// The step prints nothing more.
    pub ended: bool,
    /// The log takes nothing more.
    pub closed: bool,
    pub error: Option<String>,
    /// A part of the log was not looked at yet: all numbers may grow.
    pub partial: bool,
}

impl StepWindow {
    /// The window of a step whose log was removed.
    pub fn removed() -> Self {
        Self {
            from: 1,
            ended: true,
            closed: true,
            ..Self::default()
        }
    }
}

impl LineRange {
    /// Returns true if the range begins in what is known of a step.
    pub(crate) fn begins_in(self, index: &BuildIndex, step: &str) -> bool {
        let total = index.find(step).map_or(0, |found| found.total);
        matches!(self, Self::From { line, .. } if line <= total)
    }
}

/// All that is needed to read a window, taken from the index.
pub(crate) struct WindowPlan {
    window: StepWindow,
    step: String,
    /// Rows from here to there, the first being 0.
    first: u64,
    end: u64,
    /// The last rows are wanted most.
    is_tail: bool,
    first_event: u64,
    last_event: u64,
    place: Option<IndexPlace>,
    /// The lines, if they are in memory.
    live: Option<Lines>,
}

impl WindowPlan {
    pub(crate) fn new(index: &BuildIndex, step: &str, range: LineRange) -> Self {
        let found = index.find(step);
        let total = found.map_or(0, |found| found.total);
        let (first, end) = rows(range, total);
        let ended = found.map_or(index.closed, |found| found.ended);
        let is_tail = matches!(range, LineRange::Tail(_));
        let mut lines = Lines::new(first, end, is_tail);
        let live = found.and_then(|found| found.live_from(first)).map(|rows| {
            rows.for_each(|(number, row)| lines.take(number, row));
            lines
        });
        let settled = found.map_or(0, |found| if ended { total } else { found.settled });
        Self {
            window: StepWindow {
                from: first + 1,
                lines: Vec::new(),
                total,
                settled,
                ended,
                closed: index.closed,
                error: found.and_then(|found| found.error.clone()),
                partial: false,
            },
            step: step.to_owned(),
            first,
            end,
            is_tail,
            first_event: found.map_or(0, |found| found.first_event),
            last_event: found.map_or(0, |found| found.last_event),
            place: found.and_then(|found| found.place_before(first).cloned()),
            live,
        }
    }

    /// Reads the window from the log.
    pub(crate) fn read(mut self, logs: &Logs, build: BuildId) -> Result<StepWindow> {
        if self.first == self.end {
            return Ok(self.window);
        }
        let lines = match self.live.take() {
            Some(lines) => lines,
            None => self.lines(logs, build)?,
        };
        self.window.from = lines.first + 1;
        self.window.lines = lines.lines.into();
        Ok(self.window)
    }

    /// Reads the lines from the log.
    fn lines(&self, logs: &Logs, build: BuildId) -> Result<Lines> {
        let mut lines = Lines::new(self.first, self.end, self.is_tail);
        let mut terminal = match &self.place {
            Some(place) => Terminal::resume(&place.checkpoint),
            None => Terminal::default(),
        };
        let place = self.place.as_ref();
        let from = place.map_or(self.first_event, |place| place.event);
        let mut reader = logs.reader(build, from);
        'log: loop {
            let entries = reader.read()?;
            if entries.is_empty() {
                break;
            }
            for entry in &entries {
                if entry.id > self.last_event || terminal.settled() >= lines.end {
                    break 'log;
                }
                if event::is_of_another(entry, &[&self.step]) {
                    continue;
                }
                let Some(event) = event::read(entry) else {
                    continue;
                };
                if let Effect::Printed(text) = event.effect
                    && event.step == self.step
                {
                    let settle = |number, row: &TerminalRow| lines.take(number, row);
                    terminal.write(event.time, text.as_bytes(), settle);
                }
            }
        }
        for (number, row) in terminal.live() {
            lines.take(number, row);
        }
        Ok(lines)
    }
}

/// Returns the rows of a range, the first being 0, and the end exclusive.
fn rows(range: LineRange, total: u64) -> (u64, u64) {
    match range {
        LineRange::From { line, count } => {
            let first = line.saturating_sub(1).min(total);
            let count = count.min(MAX_WINDOW_LINES);
            (first, first.saturating_add(count).min(total))
        }
        LineRange::Tail(count) => (total.saturating_sub(count.min(MAX_WINDOW_LINES)), total),
    }
}

/// The lines of a window, as they come.
struct Lines {
    first: u64,
    end: u64,
    is_tail: bool,
    lines: VecDeque<OutputLine>,
    bytes: usize,
}

impl Lines {
    fn new(first: u64, end: u64, is_tail: bool) -> Self {
        Self {
            first,
            end,
            is_tail,
            lines: VecDeque::new(),
            bytes: 0,
        }
    }

    fn take(&mut self, number: u64, row: &TerminalRow) {
        if !(self.first..self.end).contains(&number) {
            return;
        }
        let line = OutputLine {
            time: row.time(),
            spans: row.spans().collect(),
            cut: row.cut(),
        };
        let bytes = line_bytes(&line);
        if !self.is_tail && !self.lines.is_empty() && self.bytes + bytes > MAX_WINDOW_BYTES {
            self.end = number;
            return;
        }
        self.bytes += bytes;
        self.lines.push_back(line);
        while self.bytes > MAX_WINDOW_BYTES
            && self.lines.len() > 1
            && let Some(dropped) = self.lines.pop_front()
        {
            self.bytes -= line_bytes(&dropped);
            self.first += 1;
        }
    }
}

fn line_bytes(line: &OutputLine) -> usize {
    let span = |(text, style): &(String, TerminalStyle)| {
        let link = style.link.as_ref().map_or(0, |link| link.len());
        SPAN_BYTES + text.len() + link
    };
    SPAN_BYTES + line.spans.iter().map(span).sum::<usize>()
}
