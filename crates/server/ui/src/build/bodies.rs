//! The insides of steps: facts and output of one, attempts, and the substeps of `across`.

use airside_build_picture::{BuildPicture, PictureKind, PictureState};
use airside_model::MetadataField;
use askama::Template;

use super::{
    drawing::Drawing,
    steps::page_status,
    tree::{RowShape, StepRow, value_text},
    versions::version_chips,
};
use crate::{
    PageStatus,
    marks::{glyph, linked, status_glyph},
    shell::rendered,
};

/// The largest number of substeps that a page draws in full, and of rows in their table.
const MAX_SUBSTEPS: usize = 20;
const MAX_COMBINATIONS: usize = 500;

impl Drawing<'_> {
    pub(super) fn leaf_body(&self, row: &StepRow) -> String {
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

    pub(super) fn attempts_body(&mut self, row: &StepRow) -> String {
        let places = self.node(row).children.clone();
        let begun = self.begun(row).max(1);
        let asked = self.context.opened.clone();
        let chosen = asked
            .and_then(|id| {
                places
                    .iter()
                    .position(|place| self.picture.nodes()[*place].id == id)
            })
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

    pub(super) fn across_body(&mut self, row: &StepRow) -> String {
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
                values: inner.values.iter().map(value_text).collect(),
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
            id: &node.id,
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
            if shown
                .iter()
                .any(|place| is_within(self.picture, *place, child.place))
            {
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
    id: &'a str,
    vars: &'a [String],
    combinations: Vec<Combination>,
    hidden: usize,
    error: Option<&'a str>,
    status: PageStatus,
}
