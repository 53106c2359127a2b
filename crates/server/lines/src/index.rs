//! The index of a build's log: how many lines each step has, and where to begin reading for each.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use airside_logs::{LogEntry, Logs, Result};
use airside_model::BuildId;
use airside_terminal::{Terminal, TerminalCheckpoint, TerminalRow};

use crate::event::{self, Effect, StepEvent};

/// Number of lines between two checkpoints of a step, at first.
const STRIDE: u64 = 1000;

/// The most checkpoints of a step. With more, every second one is dropped, and the next are twice
/// as far apart.
const MAX_CHECKPOINTS: usize = 4096;

/// The most steps of a build that have lines.
const MAX_STEPS: usize = 10_000;

/// The most memory of the rows that are kept of one build.
const MAX_LIVE_BYTES: usize = 8 * 1024 * 1024;

/// The longest error of a step that is kept.
const MAX_ERROR_BYTES: usize = 4096;

/// A place in a log from which a step can be read on.
#[derive(Clone, Debug)]
pub(crate) struct IndexPlace {
    /// The first event behind the checkpoint.
    pub(crate) event: u64,
    pub(crate) checkpoint: TerminalCheckpoint,
}

pub(crate) struct StepIndex {
    pub(crate) id: String,
    pub(crate) first_event: u64,
    /// The last event that printed something.
    pub(crate) last_event: u64,
    pub(crate) places: Vec<IndexPlace>,
    stride: u64,
    /// None once the log is closed. While the step runs it keeps the last rows: readers who follow
    /// need nothing else.
    terminal: Option<Box<Terminal>>,
    /// The memory of the rows that the terminal keeps.
    live_bytes: usize,
    pub(crate) total: u64,
    pub(crate) settled: u64,
    pub(crate) ended: bool,
    pub(crate) error: Option<String>,
}

#[derive(Default)]
pub(crate) struct BuildIndex {
    pub(crate) steps: Vec<StepIndex>,
    by_id: HashMap<String, usize>,
    /// The first event that was not read.
    next: u64,
    pub(crate) closed: bool,
    /// The memory of the rows that are kept of all steps.
    live_bytes: usize,
}

/// The steps of a build that have lines, in the order of their first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSteps {
    pub steps: Vec<StepLines>,
    /// The log takes nothing more.
    pub closed: bool,
    /// A part of the log was not looked at yet.
    pub partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLines {
    pub id: String,
    pub total: u64,
    pub ended: bool,
}

impl BuildIndex {
    /// Reads what is there of the log, as far as it was not read before. With an end of the time
    /// for that it may read a part only, though some of it each time; returns true if that was all.
    pub(crate) fn extend(
        &mut self,
        logs: &Logs,
        build: BuildId,
        until: Option<Instant>,
    ) -> Result<bool> {
        if self.closed {
            return Ok(true);
        }
        let closed = logs.extent(build).closed;
        let mut reader = logs.reader(build, self.next);
        loop {
            let entries = reader.read()?;
            if entries.is_empty() {
                break;
            }
            let mut changed = HashSet::new();
            for entry in &entries {
                changed.extend(self.take(entry, closed));
            }
            self.limit_rows(&changed);
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
        }
        if closed {
            self.close();
        }
        Ok(true)
    }

    /// Takes an entry; gives the number of the step that it changed. Rows of a step that has ended
    /// are only counted.
    fn take(&mut self, entry: &LogEntry, closed: bool) -> Option<usize> {
        self.next = entry.id + 1;
        let event = event::read(entry)?;
        let number = self.number(&event, entry.id)?;
        let step = self.steps.get_mut(number)?;
        step.take(event, entry.id);
        if closed || step.ended {
            step.keep_rows(false);
        }
        Some(number)
    }

    /// Drops rows of the steps that changed last if too much is kept.
    fn limit_rows(&mut self, changed: &HashSet<usize>) {
        for number in changed {
            if let Some(step) = self.steps.get_mut(*number) {
                let before = step.live_bytes;
                step.measure_rows();
                self.live_bytes = self.live_bytes - before + step.live_bytes;
            }
        }
        for number in changed {
            if self.live_bytes <= MAX_LIVE_BYTES {
                return;
            }
            if let Some(step) = self.steps.get_mut(*number) {
                self.live_bytes -= step.live_bytes;
                step.keep_rows(true);
            }
        }
    }

    /// Returns the number of an event's step. A step that is not known is made by the event.
    fn number(&mut self, event: &StepEvent<'_>, id: u64) -> Option<usize> {
        if let Some(number) = self.by_id.get(&*event.step) {
            return Some(*number);
        }
        let number = self.steps.len();
        if number >= MAX_STEPS {
            return None;
        }
        self.steps.push(StepIndex::new(&event.step, id));
        self.by_id.insert(event.step.clone().into_owned(), number);
        Some(number)
    }

    fn close(&mut self) {
        self.closed = true;
        self.live_bytes = 0;
        for step in &mut self.steps {
            step.terminal = None;
            step.live_bytes = 0;
            step.ended = true;
            step.settled = step.total;
            step.places.shrink_to_fit();
        }
    }

    pub(crate) fn find(&self, step: &str) -> Option<&StepIndex> {
        self.steps.get(*self.by_id.get(step)?)
    }

    pub(crate) fn shown(&self) -> BuildSteps {
        let steps = self.steps.iter().map(|step| StepLines {
            id: step.id.clone(),
            total: step.total,
            ended: step.ended,
        });
        BuildSteps {
            steps: steps.collect(),
            closed: self.closed,
            partial: false,
        }
    }

    /// Returns the memory that the index takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.steps.iter().map(StepIndex::bytes).sum::<usize>()
    }
}

impl StepIndex {
    fn new(id: &str, first_event: u64) -> Self {
        Self {
            id: id.to_owned(),
            first_event,
            last_event: first_event,
            places: Vec::new(),
            stride: STRIDE,
            terminal: Some(Box::default()),
            live_bytes: 0,
            total: 0,
            settled: 0,
            ended: false,
            error: None,
        }
    }

    fn take(&mut self, event: StepEvent<'_>, id: u64) {
        match event.effect {
            Effect::Ended => self.ended = true,
            Effect::Erred(message) => {
                let end = message.floor_char_boundary(MAX_ERROR_BYTES);
                self.error = Some(message[..end].to_owned());
                self.ended = true;
            }
            Effect::Printed(text) => {
                let Some(terminal) = &mut self.terminal else {
                    return;
                };
                terminal.write(event.time, text.as_bytes(), |_, _| ());
                self.total = terminal.rows();
                self.settled = terminal.settled();
                self.last_event = id;
                self.note_place(id + 1);
            }
        }
    }

    /// Drops the rows that are kept; keeps later ones or none.
    fn keep_rows(&mut self, keep: bool) {
        if let Some(terminal) = &mut self.terminal {
            terminal.drop_rows(keep);
        }
        self.live_bytes = 0;
    }

    fn measure_rows(&mut self) {
        let rows = self.terminal.iter().flat_map(|terminal| terminal.live());
        self.live_bytes = rows.map(|(_, row)| row.bytes()).sum();
    }

    /// Returns the rows from `row` to the last one, if all of them are in memory.
    pub(crate) fn live_from(&self, row: u64) -> Option<impl Iterator<Item = (u64, &TerminalRow)>> {
        let rows = self.terminal.as_ref()?.live();
        let mut rows = rows.skip_while(move |(number, _)| *number < row).peekable();
        rows.next_if(|(number, _)| *number == row)
            .map(|first| std::iter::once(first).chain(rows))
    }

    /// Keeps a checkpoint if the last one is far enough.
    fn note_place(&mut self, event: u64) {
        let last = self.places.last();
        let from = last.map_or(0, |place| place.checkpoint.first_row());
        if self.total < from + self.stride {
            return;
        }
        let checkpoint = self.terminal.as_ref().and_then(|it| it.checkpoint());
        let Some(checkpoint) = checkpoint else { return };
        self.places.push(IndexPlace { event, checkpoint });
        if self.places.len() > MAX_CHECKPOINTS {
            let mut index = 0;
            self.places.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// Returns the last place from which all rows from `row` on can be read; none is the step's
    /// beginning.
    pub(crate) fn place_before(&self, row: u64) -> Option<&IndexPlace> {
        let later = |place: &IndexPlace| place.checkpoint.first_row() <= row;
        let count = self.places.partition_point(later);
        self.places.get(count.checked_sub(1)?)
    }

    /// Returns the number of rows that there were at an event, or some fewer.
    pub(crate) fn rows_at(&self, event: u64) -> u64 {
        if event > self.last_event {
            return self.total;
        }
        let count = self.places.partition_point(|place| place.event <= event);
        let place = count.checked_sub(1).and_then(|last| self.places.get(last));
        place.map_or(0, |place| place.checkpoint.first_row())
    }

    fn bytes(&self) -> usize {
        let places = self.places.iter().map(|place| place.checkpoint.bytes() + 8);
        let error = self.error.as_ref().map_or(0, String::len);
        let terminal = self.terminal.as_ref().map_or(0, |_| size_of::<Terminal>());
        // The id is there twice.
        let whole = size_of::<Self>() + 2 * self.id.len() + error + terminal + self.live_bytes;
        whole + places.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use airside_model::{
        PlanId,
        event::{Event, Origin},
    };

    use super::*;

    fn entry(id: u64, step: u64, text: &str) -> LogEntry {
        let event = Event::Log {
            time: 7,
            origin: Origin::step(&PlanId::new(step.to_string())),
            payload: text.to_owned(),
        };
        LogEntry {
            id,
            envelope: event.envelope(id).into(),
        }
    }

    #[test]
    fn rows_of_steps_that_run_are_kept_within_a_bound() {
        let mut index = BuildIndex::default();
        let wide = "\u{1b}[1000Cx\n".repeat(200);
        let mut kept = 0;
        for step in 0..50 {
            let changed = index.take(&entry(step, step, &wide), false);
            index.limit_rows(&changed.into_iter().collect());
            let rows: usize = index.steps.iter().map(|step| step.live_bytes).sum();
            assert_eq!(rows, index.live_bytes);
            assert!(rows <= MAX_LIVE_BYTES, "{rows}");
            kept = index
                .steps
                .iter()
                .filter(|step| step.live_from(199).is_some())
                .count();
        }
        assert!((1..50).contains(&kept), "{kept}");
    }

    #[test]
    fn checkpoints_get_farther_apart_in_a_step_with_many_lines() {
        let mut index = BuildIndex::default();
        let block = "\n".repeat(1000);
        for event in 0..10_000 {
            index.take(&entry(event, 1, &block), true);
        }
        let step = &index.steps[0];
        assert!((2000..=MAX_CHECKPOINTS).contains(&step.places.len()));
        for row in [0, 999, 1000, 4_999_999, 10_000_000] {
            let first = step
                .place_before(row)
                .map_or(0, |place| place.checkpoint.first_row());
            assert!(
                first <= row && row - first <= 2 * step.stride,
                "{row} {first}"
            );
        }
    }
}
