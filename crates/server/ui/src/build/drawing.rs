//! One row of the tree of steps: its state, its facts, its time and its bar.

use std::{collections::HashSet, time::Duration};

use airside_build_picture::{
    BuildPicture, PictureKind, PictureNode, PictureSpan, PictureState, PictureStates,
};
use askama::Template;

use super::{
    steps::{StepsContext, collect_leaves, page_status},
    tree::{RowShape, StepChip, StepRow, name_of},
    versions::{first_line, summary, version_chips},
};
use crate::{
    PageStatus, duration_text,
    marks::{icon, status_glyph},
    shell::rendered,
};

pub(super) struct Drawing<'a> {
    pub(super) picture: &'a BuildPicture,
    pub(super) states: &'a PictureStates,
    pub(super) context: &'a StepsContext,
    pub(super) open: HashSet<usize>,
    /// Number of rows that may still be drawn.
    pub(super) left: usize,
}

impl Drawing<'_> {
    pub(super) fn node(&self, row: &StepRow) -> &PictureNode {
        &self.picture.nodes()[row.place]
    }

    pub(super) fn draw(&mut self, row: &StepRow, out: &mut String) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let state = self.states.state(row.place);
        let body = match row.shape {
            RowShape::Leaf => self.leaf_body(row),
            RowShape::Group => self.all(&row.children),
            RowShape::Across => self.across_body(row),
            RowShape::Attempts => self.attempts_body(row),
        };
        let span = self.states.span(row.place);
        let node = self.node(row);
        let is_off = state == PictureState::NotRun;
        out.push_str(&rendered(&Step {
            id: &node.id,
            name: &row.name,
            kind: row.kind,
            status: page_status(state),
            is_off,
            open: !is_off && self.is_open(row),
            chips: self.chips(row),
            versions: version_chips(node),
            is_new: row.kind == "get" && self.context.new_inputs.contains(&row.name),
            changed: node.facts.changed,
            news: self.news(row, state),
            note: self.note(row, state),
            worker: node.facts.worker.as_deref(),
            time: self.time(span),
            since: span
                .began
                .filter(|_| state == PictureState::Running)
                .map(|began| began / 1000),
            bar: self.bar(span, state),
            body,
        }));
    }

    pub(super) fn all(&mut self, rows: &[StepRow]) -> String {
        let mut out = String::new();
        for row in rows {
            self.draw(row, &mut out);
        }
        out
    }

    /// Groups are open unless they are long and nothing in them is.
    fn is_open(&self, row: &StepRow) -> bool {
        let mut leaves = Vec::new();
        collect_leaves(std::slice::from_ref(row), &mut leaves);
        let any = leaves.iter().any(|place| self.open.contains(place));
        match row.shape {
            RowShape::Leaf => any,
            RowShape::Group => any || row.children.len() <= 8,
            RowShape::Across | RowShape::Attempts => any,
        }
    }

    fn chips(&self, row: &StepRow) -> Vec<StepChip> {
        let mut chips = row.chips.clone();
        let plain = |text: &String| StepChip {
            text: text.clone(),
            is_hook: false,
        };
        chips.extend(row.values.iter().map(plain));
        if row.shape == RowShape::Attempts {
            let begun = self.begun(row);
            let count = begun.max(1);
            let s = if count == 1 { "" } else { "s" };
            chips.push(plain(&format!("{count} attempt{s}")));
        }
        chips
    }

    /// Returns the number of attempts that have begun.
    pub(super) fn begun(&self, row: &StepRow) -> usize {
        let places = self.node(row).children.iter();
        places
            .filter(|place| self.states.state(**place) > PictureState::Pending)
            .count()
    }

    /// Returns the words in the colour of the status.
    fn news(&self, row: &StepRow, state: PictureState) -> Option<String> {
        let node = self.node(row);
        if row.shape == RowShape::Across {
            let all = &node.children;
            let is_bad = |place: &&usize| self.states.state(**place).is_bad();
            let bad = all.iter().filter(is_bad).count();
            return (bad > 0).then(|| format!("{bad} of {} failed", all.len()));
        }
        if row.shape != RowShape::Leaf || !state.is_bad() {
            return None;
        }
        let facts = &node.facts;
        match (&facts.error, facts.exit_status) {
            (Some(error), _) => Some(first_line(error.words())),
            (None, Some(exit)) => Some(format!("exit {exit}")),
            (None, None) => Some(page_status(state).word().to_owned()),
        }
    }

    fn note(&self, row: &StepRow, state: PictureState) -> Option<String> {
        let node = self.node(row);
        if state == PictureState::NotRun {
            let cause = self.states.cause(row.place)?;
            let name = name_of(self.picture, cause);
            let word = page_status(self.states.state(cause)).word();
            return Some(format!("not run, as “{name}” {word}"));
        }
        if state == PictureState::Running && node.facts.waits_for_worker {
            return Some("waits for a worker".to_owned());
        }
        if let (RowShape::Across, PictureKind::Across(vars)) = (row.shape, &node.kind) {
            return Some(vars.join(" × "));
        }
        summary(&node.facts.metadata)
    }

    pub(super) fn time(&self, span: PictureSpan) -> Option<String> {
        let ended = span.ended.unwrap_or(self.context.now);
        let millis = u64::try_from(ended - span.began?).unwrap_or_default();
        Some(duration_text(Duration::from_millis(millis)))
    }

    fn bar(&self, span: PictureSpan, state: PictureState) -> Option<StepBar> {
        let (from, began) = (self.context.began?, span.began?);
        let to = self.context.ended.unwrap_or(self.context.now).max(from + 1);
        let to = to.max(span.ended.unwrap_or(to));
        let started = span.started.unwrap_or(began).max(began);
        let ended = span.ended.unwrap_or(to).max(started);
        let at = |time: i64| (time - from).clamp(0, to - from) as f64 * 100.0 / (to - from) as f64;
        let shown = |percent: f64| format!("{:.1}%", percent);
        let (x0, x1, x2) = (at(began), at(started), at(ended));
        let width = (x2 - x1).max(0.8);
        Some(StepBar {
            prep: (x1 - x0 >= 0.1).then(|| (shown(x0), shown(x1 - x0))),
            run: (shown(x1.min(100.0 - width)), shown(width)),
            status: page_status(state),
        })
    }
}

struct StepBar {
    prep: Option<(String, String)>,
    run: (String, String),
    status: PageStatus,
}

#[derive(Template)]
#[template(path = "build/step.html")]
struct Step<'a> {
    id: &'a str,
    name: &'a str,
    kind: &'static str,
    status: PageStatus,
    is_off: bool,
    open: bool,
    chips: Vec<StepChip>,
    versions: Vec<(String, String)>,
    is_new: bool,
    changed: Option<bool>,
    news: Option<String>,
    note: Option<String>,
    worker: Option<&'a str>,
    time: Option<String>,
    since: Option<i64>,
    bar: Option<StepBar>,
    body: String,
}
