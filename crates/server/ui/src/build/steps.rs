//! The tree of steps: one `<details>` a step, with its state, facts and time, and room for output.

use std::collections::HashSet;

use airside_build_picture::{BuildPicture, PictureState, PictureStates};
use airside_model::BuildStatus;
use askama::Template;

use super::{
    drawing::Drawing,
    tree::{RowShape, StepRow, rows},
};
use crate::{PageStatus, marks::icon, shell::rendered};

/// The largest number of rows that a page draws.
const MAX_ROWS: usize = 2_000;
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
            began: self.context.began,
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
        let (_, node) =
            nodes.find(|(place, node)| node.kind.is_step() && states.state(*place) == wanted)?;
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

pub(super) fn collect_leaves(rows: &[StepRow], places: &mut Vec<usize>) {
    for row in rows {
        if row.shape == RowShape::Leaf {
            places.push(row.place);
        }
        collect_leaves(&row.children, places);
    }
}

#[derive(Template)]
#[template(path = "build/steps.html")]
struct Steps<'a> {
    build: i64,
    status: &'static str,
    began: Option<i64>,
    notice: Option<&'a str>,
    errors: &'a [String],
    body: String,
    is_cut: bool,
}
