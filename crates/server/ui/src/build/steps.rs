//! The tree of steps: one `<details>` a step, with its state, facts and time, and room for output.

use std::{collections::HashSet, time::Duration};

use airside_build_picture::{
    BuildPicture, PictureKind, PictureNode, PictureSpan, PictureState, PictureStates,
};
use airside_model::{BuildStatus, MetadataField, Version};
use askama::Template;

use super::tree::{RowShape, StepChip, StepRow, rows};
use crate::{
    PageStatus, duration_text,
    marks::{glyph, icon, linked, status_glyph},
    shell::rendered,
};

/// The largest number of rows that a page draws.
const MAX_ROWS: usize = 2_000;
/// The largest number of substeps that a page draws in full, and of rows in their table.
const MAX_SUBSTEPS: usize = 20;
const MAX_COMBINATIONS: usize = 500;
/// The largest number of steps that are open by themselves, and of those that run.
const MAX_OPEN: usize = 20;
const MAX_OPEN_RUNNING: usize = 3;

/// Facts about a build that its steps are drawn with. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct StepsContext {
    pub build: i64,
    pub now: i64,
    pub began: Option<i64>,
    pub ended: Option<i64>,
    /// Names of inputs whose version is new.
    pub new_inputs: HashSet<String>,
    /// Step that the address opens.
    pub opened: Option<String>,
    /// Address of the page, for links to one step.
    pub url: String,
    /// True if the viewer may intercept steps.
    pub intercepts: bool,
}

/// The steps of a build, and the words around them.
#[derive(Clone, Debug)]
pub struct BuildSteps<'a> {
    pub picture: &'a BuildPicture,
    pub status: BuildStatus,
    pub context: StepsContext,
    /// Sentence instead of steps or above them, such as that the log was removed.
    pub notice: Option<String>,
}

impl BuildSteps<'_> {
    /// Renders the part of the page that has the steps.
    pub fn rendered(&self) -> String {
        let states = PictureStates::of(self.picture, self.status);
        let rows = rows(self.picture);
        let mut drawing = Drawing {
            picture: self.picture,
            states: &states,
            context: &self.context,
            open: opened(&rows, &states, self.picture, &self.context),
            left: MAX_ROWS,
        };
        let mut body = String::new();
        for row in &rows {
            drawing.draw(row, &mut body);
        }
        rendered(&Steps {
            build: self.context.build,
            status: PageStatus::from(self.status).name(),
            notice: self.notice.as_deref(),
            errors: self.picture.errors(),
            body,
            is_cut: drawing.left == 0,
        })
    }

    /// Returns the words that say how the build ended: the first step that ended badly.
    pub fn reason(&self) -> Option<String> {
        let states = PictureStates::of(self.picture, self.status);
        let mut nodes = self.picture.nodes().iter().enumerate();
        let wanted = match self.status {
            BuildStatus::Failed => PictureState::Failed,
            BuildStatus::Errored => PictureState::Errored,
            _ => return None,
        };
        let (_, node) = nodes
            .find(|(place, node)| node.kind.is_step() && states.state(*place) == wanted)?;
        let name = &node.name;
        Some(match (node.facts.exit_status, &node.facts.error) {
            (Some(exit), None) => format!("exit {exit} in “{name}”"),
            (_, Some(error)) if error.words().len() <= 60 => {
                format!("{} in “{name}”", error.words())
            }
            _ => format!("in “{name}”"),
        })
    }
}

/// Returns the status that a page shows for a step.
pub(crate) fn page_status(state: PictureState) -> PageStatus {
    match state {
        PictureState::NotRun => PageStatus::Skipped,
        PictureState::Pending => PageStatus::Pending,
        PictureState::Running => PageStatus::Started,
        PictureState::Succeeded => PageStatus::Succeeded,
        PictureState::Failed => PageStatus::Failed,
        PictureState::Errored => PageStatus::Errored,
        PictureState::Aborted => PageStatus::Aborted,
    }
}

/// Returns the places of steps that are open by themselves.
fn opened(
    rows: &[StepRow],
    states: &PictureStates,
    picture: &BuildPicture,
    context: &StepsContext,
) -> HashSet<usize> {
    let mut leaves = Vec::new();
    collect_leaves(rows, &mut leaves);
    let of_state = |wanted: &[PictureState]| -> Vec<usize> {
        let places = leaves.iter().copied();
        places
            .filter(|place| wanted.contains(&states.state(*place)))
            .collect()
    };
    let bad = of_state(&[PictureState::Failed, PictureState::Errored]);
    let mut running = of_state(&[PictureState::Running]);
    running.sort_by_key(|place| std::cmp::Reverse(states.span(*place).began));
    let aborted = of_state(&[PictureState::Aborted]);
    let aborted = aborted
        .into_iter()
        .filter(|place| states.span(*place).started.is_some());
    let asked = context.opened.as_deref().and_then(|id| picture.find(id));
    bad.into_iter()
        .chain(aborted)
        .take(MAX_OPEN)
        .chain(running.into_iter().take(MAX_OPEN_RUNNING))
        .chain(asked)
        .collect()
}

fn collect_leaves(rows: &[StepRow], places: &mut Vec<usize>) {
    for row in rows {
        if row.shape == RowShape::Leaf {
            places.push(row.place);
        }
        collect_leaves(&row.children, places);
    }
}

struct Drawing<'a> {
    picture: &'a BuildPicture,
    states: &'a PictureStates,
    context: &'a StepsContext,
    open: HashSet<usize>,
    /// Number of rows that may still be drawn.
    left: usize,
}

impl Drawing<'_> {
    fn node(&self, row: &StepRow) -> &PictureNode {
        &self.picture.nodes()[row.place]
    }

    fn draw(&mut self, row: &StepRow, out: &mut String) {
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

    fn all(&mut self, rows: &[StepRow]) -> String {
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
    fn begun(&self, row: &StepRow) -> usize {
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
            let name = super::tree::name_of(self.picture, cause);
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

    fn time(&self, span: PictureSpan) -> Option<String> {
        let ended = span.ended.unwrap_or(self.context.now);
        let millis = u64::try_from(ended - span.began?).unwrap_or_default();
        Some(duration_text(Duration::from_millis(millis)))
    }

    fn bar(&self, span: PictureSpan, state: PictureState) -> Option<StepBar> {
        let (from, began) = (self.context.began?, span.began?);
        let to = self.context.ended.unwrap_or(self.context.now).max(from + 1);
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

    fn leaf_body(&self, row: &StepRow) -> String {
        let node = self.node(row);
        let state = self.states.state(row.place);
        if state == PictureState::NotRun {
            return String::new();
        }
        let images = node.images.iter().map(|place| {
            let image = &self.picture.nodes()[*place];
            ImageStep {
                id: image.id.clone(),
                status: page_status(self.states.state(*place)),
                kind: image.kind.name(),
                name: image.name.clone(),
                versions: version_chips(image),
                time: self.time(self.states.span(*place)).unwrap_or_default(),
            }
        });
        let has_output = !row.kind.starts_with("artifact");
        rendered(&LeafBody {
            id: &node.id,
            build: self.context.build,
            name: &row.name,
            images: images.collect(),
            metadata: &node.facts.metadata,
            has_output,
            status: page_status(state),
            error: node.facts.error.as_ref().map(|error| error.words()),
            exit: node.facts.exit_status.filter(|_| state.is_bad()),
            time: self.time(self.states.span(row.place)).unwrap_or_default(),
            intercepts: self.context.intercepts && row.kind != "set_pipeline" && state.is_bad(),
        })
    }

    fn attempts_body(&mut self, row: &StepRow) -> String {
        let places = self.node(row).children.clone();
        let begun = self.begun(row).max(1);
        let asked = self.context.opened.clone();
        let chosen = asked
            .and_then(|id| places.iter().position(|place| self.picture.nodes()[*place].id == id))
            .map_or(begun, |index| index + 1);
        let mut attempts = Vec::new();
        for (index, place) in places.iter().enumerate().take(begun) {
            let inner: Vec<_> = row
                .children
                .iter()
                .filter(|child| is_within(self.picture, *place, child.place))
                .cloned()
                .collect();
            let body = match inner.as_slice() {
                [leaf] if leaf.shape == RowShape::Leaf => self.leaf_body(leaf),
                rows => self.all(rows),
            };
            let id = self.picture.nodes()[*place].id.clone();
            attempts.push(Attempt {
                href: step_link(&self.context.url, &id),
                id,
                number: index + 1,
                status: page_status(self.states.state(*place)),
                is_shown: index + 1 == chosen,
                body,
            });
        }
        rendered(&Attempts {
            attempts,
            most: places.len(),
        })
    }

    fn across_body(&mut self, row: &StepRow) -> String {
        let node = self.node(row);
        let PictureKind::Across(vars) = &node.kind else {
            return String::new();
        };
        let mut places = node.children.clone();
        let rank = |place: usize| match self.states.state(place) {
            state if state.is_bad() => 0,
            PictureState::Running => 1,
            PictureState::Succeeded => 2,
            _ => 3,
        };
        places.sort_by_key(|place| rank(*place));
        let hidden = places.len().saturating_sub(MAX_COMBINATIONS);
        let combination = |place: &usize| {
            let inner = &self.picture.nodes()[*place];
            let state = self.states.state(*place);
            Combination {
                href: step_link(&self.context.url, &inner.id),
                status: page_status(state),
                values: inner.values.iter().map(super::tree::value_text).collect(),
                news: inner
                    .facts
                    .exit_status
                    .filter(|_| state.is_bad())
                    .map(|exit| format!("exit {exit}"))
                    .unwrap_or_default(),
                time: self.time(self.states.span(*place)).unwrap_or_default(),
                worker: inner.facts.worker.clone().unwrap_or_default(),
                is_open: state.is_bad(),
            }
        };
        let combinations = places.iter().take(MAX_COMBINATIONS).map(combination);
        let table = rendered(&AcrossTable {
            vars,
            combinations: combinations.collect(),
            hidden,
            error: node.facts.error.as_ref().map(|error| error.words()),
            status: page_status(self.states.state(row.place)),
        });
        let few = places.len() <= MAX_SUBSTEPS;
        let asked = self.context.opened.as_deref();
        let asked = asked.and_then(|id| self.picture.find(id));
        let shown: Vec<usize> = places
            .into_iter()
            .filter(|place| {
                let holds = |asked| is_within(self.picture, *place, asked);
                few || rank(*place) < 2 || asked.is_some_and(holds)
            })
            .take(MAX_SUBSTEPS)
            .collect();
        let mut body = table;
        for child in &row.children {
            if shown.iter().any(|place| is_within(self.picture, *place, child.place)) {
                self.draw(child, &mut body);
            }
        }
        body
    }
}

/// Returns true if a node is another one or below it.
fn is_within(picture: &BuildPicture, outer: usize, inner: usize) -> bool {
    if outer == inner {
        return true;
    }
    let node = &picture.nodes()[outer];
    let mut below = node.children.iter().chain(&node.images);
    below.any(|child| *child <= inner && is_within(picture, *child, inner))
}

fn step_link(url: &str, id: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    let mut escaped = String::new();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("{url}{separator}step={escaped}#S{escaped}")
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("errored").chars().take(200).collect()
}

/// Returns the words of a version's metadata that tell people most.
fn summary(metadata: &[MetadataField]) -> Option<String> {
    let find = |name: &str| {
        let field = metadata.iter().find(|field| field.name == name)?;
        let line = first_line(&field.value);
        (!field.value.is_empty()).then_some(line)
    };
    match (find("message"), find("author")) {
        (Some(message), Some(author)) => Some(format!("{message}, {author}")),
        (message, author) => message.or(author),
    }
}

/// Returns what a version shows on a line: each pair short, and whole.
fn version_chips(node: &PictureNode) -> Vec<(String, String)> {
    let version = node.facts.version.as_ref().or(node.planned.as_ref());
    version.map(version_pairs).unwrap_or_default()
}

/// Returns the pairs of a version, each short and whole.
pub(crate) fn version_pairs(version: &Version) -> Vec<(String, String)> {
    let pairs = version.0.iter();
    let shown = pairs.map(|(key, value)| (format!("{key} {}", short(value)), format!("{key}: {value}")));
    shown.take(4).collect()
}

/// Returns a commit or a digest as people shorten it.
pub(crate) fn short(value: &str) -> String {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if value.len() == 40 && is_hex(value) {
        return value[..7].to_owned();
    }
    match value.strip_prefix("sha256:") {
        Some(digest) if digest.len() == 64 && is_hex(digest) => {
            format!("sha256:{}…{}", &digest[..4], &digest[60..])
        }
        _ => value.to_owned(),
    }
}

struct StepBar {
    prep: Option<(String, String)>,
    run: (String, String),
    status: PageStatus,
}

struct ImageStep {
    id: String,
    status: PageStatus,
    kind: &'static str,
    name: String,
    versions: Vec<(String, String)>,
    time: String,
}

struct Attempt {
    id: String,
    href: String,
    number: usize,
    status: PageStatus,
    is_shown: bool,
    body: String,
}

struct Combination {
    href: String,
    status: PageStatus,
    values: Vec<String>,
    news: String,
    time: String,
    worker: String,
    is_open: bool,
}

#[derive(Template)]
#[template(path = "build/steps.html")]
struct Steps<'a> {
    build: i64,
    status: &'static str,
    notice: Option<&'a str>,
    errors: &'a [String],
    body: String,
    is_cut: bool,
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

#[derive(Template)]
#[template(path = "build/leaf.html")]
struct LeafBody<'a> {
    id: &'a str,
    build: i64,
    name: &'a str,
    images: Vec<ImageStep>,
    metadata: &'a [MetadataField],
    has_output: bool,
    status: PageStatus,
    error: Option<&'a str>,
    exit: Option<i32>,
    time: String,
    intercepts: bool,
}

#[derive(Template)]
#[template(path = "build/attempts.html")]
struct Attempts {
    attempts: Vec<Attempt>,
    most: usize,
}

#[derive(Template)]
#[template(path = "build/across.html")]
struct AcrossTable<'a> {
    vars: &'a [String],
    combinations: Vec<Combination>,
    hidden: usize,
    error: Option<&'a str>,
    status: PageStatus,
}
