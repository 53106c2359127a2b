//! The steps of a build as rows: what only changes other steps (hooks, `try`, `timeout`) becomes a
//! chip at the step, so that a row is something that runs, or a group of such.

use airside_build_picture::{BuildPicture, PictureKind, PictureNode, PictureStates};
use serde_json::Value;

use crate::{PageStatus, build::steps::page_status};

/// The way a row shows its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowShape {
    Leaf,
    Group,
    Across,
    Attempts,
}

/// A chip at a step's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepChip {
    pub(crate) text: String,
    pub(crate) is_hook: bool,
}

/// One step, or a group of steps.
#[derive(Clone, Debug)]
pub(crate) struct StepRow {
    pub(crate) place: usize,
    pub(crate) shape: RowShape,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) chips: Vec<StepChip>,
    /// Values of the `across` around it.
    pub(crate) values: Vec<String>,
    pub(crate) children: Vec<StepRow>,
}

/// The wrappers that were met on the way to a step.
#[derive(Clone, Default)]
struct Wrappers {
    chips: Vec<StepChip>,
    values: Vec<String>,
    /// True if nothing but hooks of the whole job is around.
    is_whole: bool,
}

/// Returns the rows of a picture.
pub(crate) fn rows(picture: &BuildPicture) -> Vec<StepRow> {
    let mut rows = Vec::new();
    let Some(root) = picture.root() else {
        return rows;
    };
    let whole = Wrappers {
        is_whole: true,
        ..Wrappers::default()
    };
    add(picture, root, whole, &mut rows);
    rows
}

fn add(picture: &BuildPicture, place: usize, mut around: Wrappers, rows: &mut Vec<StepRow>) {
    let node = &picture.nodes()[place];
    if !node.values.is_empty() {
        around.values = node.values.iter().map(value_text).collect();
    }
    let inner = |child: Option<&usize>, around: Wrappers, rows: &mut Vec<StepRow>| {
        if let Some(child) = child {
            add(picture, *child, around, rows);
        }
    };
    let steps = &node.children;
    match &node.kind {
        PictureKind::Do if around.is_whole => {
            for step in steps {
                add(picture, *step, Wrappers::default(), rows);
            }
        }
        PictureKind::Do if steps.len() == 1 => inner(steps.first(), around, rows),
        PictureKind::Try => {
            around.chips.push(chip("try"));
            inner(steps.first(), around, rows);
        }
        PictureKind::Timeout(duration) => {
            around.chips.push(chip(format!("timeout {duration}")));
            inner(steps.first(), around, rows);
        }
        PictureKind::Hook(hook) => {
            inner(steps.first(), around, rows);
            let text = match steps.first().and_then(|step| hooked_name(picture, *step)) {
                Some(name) => format!("{} of {name}", hook.name()),
                None => hook.name().to_owned(),
            };
            let hooked = Wrappers {
                chips: vec![StepChip {
                    text,
                    is_hook: true,
                }],
                ..Wrappers::default()
            };
            inner(steps.get(1), hooked, rows);
        }
        kind => rows.push(row(picture, place, kind, around)),
    }
}

fn row(picture: &BuildPicture, place: usize, kind: &PictureKind, around: Wrappers) -> StepRow {
    let node = &picture.nodes()[place];
    let mut children = Vec::new();
    for child in &node.children {
        add(picture, *child, Wrappers::default(), &mut children);
    }
    let counted = match node.children.len() {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    };
    let (shape, kind, name) = match kind {
        PictureKind::Across(_) => (RowShape::Across, "across", name_of(picture, place)),
        PictureKind::Retry => (
            RowShape::Attempts,
            first_leaf(picture, place).map_or("attempts", |leaf| leaf.kind.name()),
            name_of(picture, place),
        ),
        PictureKind::Step(kind) => (RowShape::Leaf, *kind, node.name.clone()),
        kind => (RowShape::Group, kind.name(), counted),
    };
    StepRow {
        place,
        shape,
        kind,
        name,
        chips: around.chips,
        values: around.values,
        children,
    }
}

/// Returns the name of the first step within a node; of an `across` that has no steps yet, the
/// names of its variables.
pub(crate) fn name_of(picture: &BuildPicture, place: usize) -> String {
    match (first_leaf(picture, place), &picture.nodes()[place].kind) {
        (Some(leaf), _) => leaf.name.clone(),
        (None, PictureKind::Across(vars)) => vars.join(" × "),
        (None, _) => String::new(),
    }
}

/// Returns the name of the step that a hook belongs to; none if it belongs to several.
fn hooked_name(picture: &BuildPicture, place: usize) -> Option<String> {
    let node = &picture.nodes()[place];
    let inner = || hooked_name(picture, *node.children.first()?);
    match &node.kind {
        PictureKind::InParallel => None,
        PictureKind::Do if node.children.len() != 1 => None,
        PictureKind::Do | PictureKind::Hook(_) | PictureKind::Try | PictureKind::Timeout(_) => {
            inner()
        }
        PictureKind::Step(_) | PictureKind::Across(_) | PictureKind::Retry => {
            Some(name_of(picture, place)).filter(|name| !name.is_empty())
        }
    }
}

fn first_leaf(picture: &BuildPicture, place: usize) -> Option<&PictureNode> {
    let node = &picture.nodes()[place];
    if node.kind.is_step() {
        return Some(node);
    }
    first_leaf(picture, *node.children.first()?)
}

fn chip(text: impl Into<String>) -> StepChip {
    StepChip {
        text: text.into(),
        is_hook: false,
    }
}

/// Returns a value of an `across` as people write it.
pub(crate) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the name, status and duration in milliseconds of each step, for a comparison with those
/// of another build. Steps of one name are told apart by a number.
pub fn step_durations(
    picture: &BuildPicture,
    states: &PictureStates,
) -> Vec<(String, PageStatus, Option<i64>)> {
    let mut found = Vec::new();
    collect(&rows(picture), states, &mut found);
    let mut seen = std::collections::HashMap::<String, u32>::new();
    for (name, ..) in &mut found {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name = format!("{name} ({count})");
        }
    }
    found
}

fn collect(
    rows: &[StepRow],
    states: &PictureStates,
    found: &mut Vec<(String, PageStatus, Option<i64>)>,
) {
    for row in rows {
        if row.shape == RowShape::Leaf {
            let span = states.span(row.place);
            let took = span
                .began
                .zip(span.ended)
                .map(|(began, ended)| ended - began);
            let mut name = format!("{} {}", row.kind, row.name);
            for value in &row.values {
                name.push_str(", ");
                name.push_str(value);
            }
            found.push((name, page_status(states.state(row.place)), took));
        }
        collect(&row.children, states, found);
    }
}
