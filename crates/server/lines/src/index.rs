//! The index of a build's log: how many lines each step has, and where to begin reading for each.

use std::collections::HashMap;

use airside_logs::{LogEntry, Logs, Result};
use airside_model::BuildId;
use airside_terminal::{Terminal, TerminalCheckpoint};

use crate::event::{self, Effect, StepEvent};

/// Number of lines between two checkpoints of a step, at first.
const STRIDE: u64 = 1000;

/// The most checkpoints of a step. With more, every second one is dropped, and the next are twice
/// as far apart.
const MAX_CHECKPOINTS: usize = 4096;

/// The most steps of a build that have lines.
const MAX_STEPS: usize = 10_000;

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
    /// None once the log is closed.
    terminal: Option<Box<Terminal>>,
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
}

/// The steps of a build that have lines, in the order of their first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSteps {
    pub steps: Vec<StepLines>,
    /// The log takes nothing more.
    pub closed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLines {
    pub id: String,
    pub total: u64,
    pub ended: bool,
}

impl BuildIndex {
    /// Reads what is there of the log, as far as it was not read before.
    pub(crate) fn extend(&mut self, logs: &Logs, build: BuildId) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        let closed = logs.extent(build).closed;
        let mut reader = logs.reader(build, self.next);
        loop {
            let entries = reader.read()?;
            if entries.is_empty() {
                break;
            }
            for entry in &entries {
                self.take(entry);
            }
        }
        if closed {
            self.close();
        }
        Ok(())
    }

    fn take(&mut self, entry: &LogEntry) {
        self.next = entry.id + 1;
        let Some(event) = event::read(entry) else {
            return;
        };
        if let Some(step) = self.step(&event, entry.id) {
            step.take(event, entry.id);
        }
    }

    /// Returns the step of an event. A step that printed nothing yet is made by its first output.
    fn step(&mut self, event: &StepEvent<'_>, id: u64) -> Option<&mut StepIndex> {
        let index = match self.by_id.get(&*event.step) {
            Some(index) => *index,
            None if self.steps.len() < MAX_STEPS => {
                let index = self.steps.len();
                self.steps.push(StepIndex::new(&event.step, id));
                self.by_id.insert(event.step.clone().into_owned(), index);
                index
            }
            None => return None,
        };
        self.steps.get_mut(index)
    }

    fn close(&mut self) {
        self.closed = true;
        for step in &mut self.steps {
            step.terminal = None;
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
            terminal: Some(Box::new(Terminal::counting())),
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
        size_of::<Self>() + 2 * self.id.len() + error + terminal + places.sum::<usize>()
    }
}
