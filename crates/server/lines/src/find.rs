//! A search of a build's lines, in pieces of bounded time.
//!
//! Steps are searched in groups, in the order of their first output. Each step of a group has a
//! terminal, so the size of a group bounds the memory, and parallel steps are read together.

use std::{
    fmt,
    ops::ControlFlow,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_logs::{LogEntry, Logs, Result};
use airside_model::BuildId;
use airside_terminal::{LIVE_ROWS, Terminal, TerminalRow};

use crate::{
    FindQuery,
    event::{self, Effect},
    index::{BuildIndex, IndexPlace, StepIndex},
};

/// Number of steps that are searched together.
const GROUP: usize = 8;

/// A search with as many hits ends.
const MAX_HITS: usize = 1000;

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindHit {
    pub step: Arc<str>,
    /// The number of the line in its step, the first being 1.
    pub line: u64,
    /// Start and length of each match, in units of UTF-16.
    pub marks: Vec<(u32, u32)>,
}

/// A place where a search goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindCursor {
    group: usize,
    event: u64,
}

impl fmt::Display for FindCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.group, self.event)
    }
}

/// The text is not a place in a search.
#[derive(Debug, thiserror::Error)]
#[error("the place in the search cannot be read")]
pub struct BadCursor;

impl FromStr for FindCursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (group, event) = text.split_once('-').ok_or(BadCursor)?;
        Ok(Self {
            group: group.parse().map_err(|_| BadCursor)?,
            event: event.parse().map_err(|_| BadCursor)?,
        })
    }
}

/// A part of the answer to a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindPart {
    Hit(FindHit),
    /// The search has ended: at this place, or with the last line.
    End(Option<FindCursor>),
}

/// The limits of a search, and the place that hits go to.
pub(crate) struct Search<F> {
    pub(crate) query: FindQuery,
    /// The only step that is searched.
    pub(crate) step: Option<String>,
    pub(crate) time: Duration,
    /// Breaks if the hits are not wanted any more.
    pub(crate) give: F,
    /// Begins with the first line that was not searched before.
    began: Option<Instant>,
    hits: usize,
}

/// The reason for which a search stops before its end.
enum Stop {
    /// It goes on with this event.
    Later(u64),
    NotWanted,
}

impl<F: FnMut(Option<FindHit>) -> ControlFlow<()>> Search<F> {
    pub(crate) fn new(query: FindQuery, step: Option<String>, time: Duration, give: F) -> Self {
        Self {
            query,
            step,
            time,
            give,
            began: None,
            hits: 0,
        }
    }

    /// Searches from a place on; gives the place where to go on. `plan` looks a group up in the
    /// index; it is not held during the search.
    pub(crate) fn run(
        &mut self,
        logs: &Logs,
        build: BuildId,
        mut at: FindCursor,
        plan: impl Fn(FindCursor, Option<&str>) -> Option<GroupPlan>,
    ) -> Result<Option<FindCursor>> {
        let mut next = plan(at, self.step.as_deref());
        while let Some(group) = next {
            match self.search_group(logs, build, group)? {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Stop::Later(event)) => {
                    return Ok(Some(FindCursor { event, ..at }));
                }
                ControlFlow::Break(Stop::NotWanted) => return Ok(None),
            }
            at = FindCursor {
                group: at.group.saturating_add(1),
                event: 0,
            };
            next = plan(at, self.step.as_deref());
            if next.is_some() && self.is_over() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn is_over(&self) -> bool {
        let late = self.began.is_some_and(|began| began.elapsed() >= self.time);
        late || self.hits >= MAX_HITS
    }

    fn search_group(
        &mut self,
        logs: &Logs,
        build: BuildId,
        mut group: GroupPlan,
    ) -> Result<ControlFlow<Stop>> {
        let mut reader = logs.reader(build, group.first_event());
        loop {
            let entries = reader.read()?;
            if entries.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            for entry in &entries {
                if group.steps.iter().all(|step| entry.id > step.last_event) {
                    return Ok(ControlFlow::Continue(()));
                }
                self.look(&mut group, entry);
                if (self.give)(None).is_break() {
                    return Ok(ControlFlow::Break(Stop::NotWanted));
                }
                // So a search always gets farther than the one before.
                if entry.id >= group.from {
                    self.began.get_or_insert_with(Instant::now);
                    if self.is_over() && group.last_event() > entry.id {
                        return Ok(ControlFlow::Break(Stop::Later(entry.id + 1)));
                    }
                }
            }
        }
    }

    /// Looks at the rows that an event settles, and behind a step's last output at the others.
    fn look(&mut self, group: &mut GroupPlan, entry: &LogEntry) {
        let names: Vec<&str> = group.steps.iter().map(|step| &*step.id).collect();
        if event::is_of_another(entry, &names) {
            return;
        }
        let Some(event) = event::read(entry) else {
            return;
        };
        let Effect::Printed(text) = event.effect else {
            return;
        };
        let is_new = entry.id >= group.from;
        let Some(step) = group.steps.iter_mut().find(|step| *step.id == *event.step) else {
            return;
        };
        if entry.id < step.first_event || entry.id > step.last_event {
            return;
        }
        let id = step.id.clone();
        let mut settle = |number: u64, row: &TerminalRow| {
            if is_new {
                self.compare(&id, number, row);
            }
        };
        step.terminal
            .write(event.time, text.as_bytes(), &mut settle);
        if entry.id == step.last_event {
            let terminal = std::mem::take(&mut step.terminal);
            terminal
                .live()
                .for_each(|(number, row)| settle(number, row));
        }
    }

    fn compare(&mut self, step: &Arc<str>, number: u64, row: &TerminalRow) {
        let mut text = row.text();
        let marks = self.query.marks(&mut text);
        if !marks.is_empty() {
            self.hits += 1;
            let hit = FindHit {
                step: step.clone(),
                line: number + 1,
                marks,
            };
            // That hits are not wanted is seen after the event.
            let _ = (self.give)(Some(hit));
        }
    }
}

/// Steps that are searched together, from an event on.
pub(crate) struct GroupPlan {
    /// Rows that were settled before this event were searched already.
    from: u64,
    steps: Vec<StepPlan>,
}

struct StepPlan {
    id: Arc<str>,
    terminal: Terminal,
    first_event: u64,
    last_event: u64,
}

impl GroupPlan {
    /// Looks up the steps of a group that are not searched; none if there is no such group.
    pub(crate) fn new(index: &BuildIndex, at: FindCursor, step: Option<&str>) -> Option<Self> {
        let steps: Vec<&StepIndex> = match step {
            Some(step) => index
                .find(step)
                .filter(|_| at.group == 0)
                .into_iter()
                .collect(),
            None => index.steps.chunks(GROUP).nth(at.group)?.iter().collect(),
        };
        if steps.is_empty() {
            return None;
        }
        let open = steps.iter().filter(|step| step.last_event >= at.event);
        Some(Self {
            from: at.event,
            steps: open.map(|step| StepPlan::new(step, at.event)).collect(),
        })
    }

    fn first_event(&self) -> u64 {
        let firsts = self.steps.iter().map(|step| step.first_event);
        firsts.min().unwrap_or(u64::MAX)
    }

    fn last_event(&self) -> u64 {
        let lasts = self.steps.iter().map(|step| step.last_event);
        lasts.max().unwrap_or(0)
    }
}

impl StepPlan {
    /// The terminal has all rows that were not settled at the event.
    fn new(step: &StepIndex, event: u64) -> Self {
        let settled = step.rows_at(event).saturating_sub(LIVE_ROWS as u64);
        let place: Option<&IndexPlace> = step.place_before(settled).filter(|_| event > 0);
        Self {
            id: step.id.as_str().into(),
            terminal: place.map_or_else(Terminal::default, |it| Terminal::resume(&it.checkpoint)),
            first_event: place.map_or(step.first_event, |place| place.event),
            last_event: step.last_event,
        }
    }
}
