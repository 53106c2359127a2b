//! States and times of all nodes: those of steps by their events, those of the others by the rules
//! that the engine combines them by.

use airside_model::BuildStatus;

use crate::{
    BuildPicture, StepError,
    node::{HookKind, PictureKind, PictureNode},
};

/// The state of a node. A later one of the last three outweighs an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PictureState {
    /// The node will not run.
    NotRun,
    Pending,
    Running,
    Succeeded,
    Failed,
    Errored,
    Aborted,
}

impl PictureState {
    /// Returns true if the node came to an end.
    pub fn is_ended(self) -> bool {
        self >= Self::Succeeded
    }

    /// Returns true if the node ended otherwise than well.
    pub fn is_bad(self) -> bool {
        self > Self::Succeeded
    }

    fn is_idle(self) -> bool {
        self < Self::Running
    }
}

/// The time that a node takes, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PictureSpan {
    pub began: Option<i64>,
    /// Start of the first process.
    pub started: Option<i64>,
    /// End, of a node that has ended.
    pub ended: Option<i64>,
}

/// The states of all nodes of a picture, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureStates {
    states: Vec<PictureState>,
    spans: Vec<PictureSpan>,
    causes: Vec<Option<usize>>,
}

impl PictureStates {
    /// Computes the states of a build that has this status.
    pub fn of(picture: &BuildPicture, build: BuildStatus) -> Self {
        let nodes = picture.nodes();
        let mut found = Self {
            states: vec![PictureState::Pending; nodes.len()],
            spans: vec![PictureSpan::default(); nodes.len()],
            causes: vec![None; nodes.len()],
        };
        // Children stand behind their parents.
        for (place, node) in nodes.iter().enumerate().rev() {
            found.states[place] = found.state_of(node, build);
            found.spans[place] = found.span_of(node, found.states[place]);
        }
        found.mark_not_run(nodes, build);
        found
    }

    /// Returns the state of the node at this place.
    pub fn state(&self, place: usize) -> PictureState {
        self.states[place]
    }

    /// Returns the times of the node at this place.
    pub fn span(&self, place: usize) -> PictureSpan {
        self.spans[place]
    }

    /// Returns the place of the node whose end is the reason why this one does not run.
    pub fn cause(&self, place: usize) -> Option<usize> {
        self.causes[place]
    }

    fn state_of(&self, node: &PictureNode, build: BuildStatus) -> PictureState {
        let facts = &node.facts;
        if let Some(outcome) = facts.outcome {
            return outcome;
        }
        let own = match (&facts.error, facts.succeeded) {
            (Some(StepError::Interrupted), _) => Some(PictureState::Aborted),
            (Some(StepError::TimedOut), _) => Some(PictureState::Failed),
            (Some(StepError::Erred(_)), _) => Some(PictureState::Errored),
            (None, Some(true)) => Some(PictureState::Succeeded),
            (None, Some(false)) => Some(PictureState::Failed),
            (None, None) => None,
        };
        if let Some(own) = own {
            return own;
        }
        let children = || node.children.iter().map(|child| self.states[*child]);
        match &node.kind {
            PictureKind::Step(_) => step_state(facts.began.is_some(), build),
            PictureKind::Across(_) if node.children.is_empty() => {
                step_state(facts.began.is_some(), build)
            }
            PictureKind::Do => in_order(children()),
            PictureKind::InParallel | PictureKind::Across(_) => together(children(), build),
            PictureKind::Hook(hook) => {
                let mut both = children();
                let step = both.next().unwrap_or(PictureState::Succeeded);
                joined(*hook, step, both.next(), build)
            }
            PictureKind::Try => match children().next() {
                Some(PictureState::Failed | PictureState::Errored) | None => {
                    PictureState::Succeeded
                }
                Some(other) => other,
            },
            PictureKind::Timeout(_) => children().next().unwrap_or(PictureState::Succeeded),
            PictureKind::Retry => attempts(children(), build),
        }
    }

    fn span_of(&self, node: &PictureNode, state: PictureState) -> PictureSpan {
        let facts = &node.facts;
        let inner = || node.children.iter().map(|child| self.spans[*child]);
        let began = inner().filter_map(|span| span.began);
        let started = inner().filter_map(|span| span.started);
        let ended = inner().filter_map(|span| span.ended);
        PictureSpan {
            began: began.chain(facts.began).min(),
            started: started.chain(facts.started).min(),
            ended: ended.chain(facts.ended).max().filter(|_| state.is_ended()),
        }
    }

    /// Tells nodes that cannot run any more from those that wait for their turn.
    fn mark_not_run(&mut self, nodes: &[PictureNode], build: BuildStatus) {
        for (place, node) in nodes.iter().enumerate() {
            let off = self.states[place] == PictureState::NotRun;
            let mut cause = self.causes[place];
            for (index, child) in node.children.iter().enumerate() {
                let before = node.children[..index].last().copied();
                let skipped = match (&node.kind, before) {
                    (PictureKind::Do, Some(before)) => self.states[before].is_bad(),
                    (PictureKind::Retry, Some(before)) => {
                        self.states[before] == PictureState::Succeeded
                    }
                    (PictureKind::Hook(hook), Some(step)) => {
                        self.states[step].is_ended() && !runs(*hook, self.states[step])
                    }
                    _ => false,
                };
                if skipped {
                    cause = before;
                }
                let is_off = off || cause.is_some() || build.is_finished();
                if self.states[*child].is_idle() && is_off {
                    self.states[*child] = PictureState::NotRun;
                    self.causes[*child] = cause;
                }
            }
        }
    }
}

fn step_state(has_begun: bool, build: BuildStatus) -> PictureState {
    match (has_begun, build) {
        (false, status) if status.is_finished() => PictureState::NotRun,
        (false, _) => PictureState::Pending,
        (true, BuildStatus::Aborted) => PictureState::Aborted,
        // Its end was lost with the server that drove it.
        (true, status) if status.is_finished() => PictureState::Errored,
        (true, _) => PictureState::Running,
    }
}

fn in_order(steps: impl Iterator<Item = PictureState>) -> PictureState {
    let mut any_succeeded = false;
    for step in steps {
        match step {
            PictureState::Succeeded => any_succeeded = true,
            PictureState::Pending if any_succeeded => return PictureState::Running,
            PictureState::NotRun if any_succeeded => return PictureState::Aborted,
            other => return other,
        }
    }
    PictureState::Succeeded
}

fn together(steps: impl Iterator<Item = PictureState>, build: BuildStatus) -> PictureState {
    let (mut idle, mut ended) = (None::<PictureState>, None::<PictureState>);
    for step in steps {
        match step {
            PictureState::Running => return PictureState::Running,
            step if step.is_idle() => idle = idle.max(Some(step)),
            step => ended = ended.max(Some(step)),
        }
    }
    match (idle, ended) {
        (Some(PictureState::Pending), Some(_)) => PictureState::Running,
        (Some(idle), None) => idle,
        // Its siblings stopped it.
        (_, Some(PictureState::Aborted)) if build != BuildStatus::Aborted => PictureState::Failed,
        (_, Some(ended)) => ended,
        (None, None) => PictureState::Succeeded,
    }
}

fn joined(
    hook: HookKind,
    step: PictureState,
    hooked: Option<PictureState>,
    build: BuildStatus,
) -> PictureState {
    match hooked {
        None | Some(PictureState::NotRun) => step,
        Some(PictureState::Pending) if runs(hook, step) && !build.is_finished() => {
            PictureState::Running
        }
        Some(PictureState::Pending) => step,
        Some(PictureState::Running) => PictureState::Running,
        Some(ended) => match hook {
            HookKind::OnSuccess => ended,
            HookKind::OnFailure | HookKind::OnError if ended > PictureState::Failed => {
                step.max(ended)
            }
            HookKind::OnFailure | HookKind::OnError | HookKind::OnAbort => step,
            HookKind::Ensure => step.max(ended),
        },
    }
}

/// Returns true if the hook of a step with this end runs.
fn runs(hook: HookKind, step: PictureState) -> bool {
    match hook {
        HookKind::OnSuccess => step == PictureState::Succeeded,
        HookKind::OnFailure => step == PictureState::Failed,
        HookKind::OnError => step == PictureState::Errored,
        HookKind::OnAbort => step == PictureState::Aborted,
        HookKind::Ensure => step.is_ended(),
    }
}

fn attempts(steps: impl Iterator<Item = PictureState>, build: BuildStatus) -> PictureState {
    let mut last = None;
    for step in steps {
        match (step, last) {
            (PictureState::Succeeded | PictureState::Running, _) => return step,
            (PictureState::Pending, None) => return PictureState::Pending,
            (PictureState::Pending, Some(PictureState::Aborted)) => break,
            (PictureState::Pending, Some(_)) if !build.is_finished() => {
                return PictureState::Running;
            }
            (PictureState::NotRun | PictureState::Pending, Some(_)) => break,
            (step, _) => last = Some(step),
        }
    }
    last.unwrap_or(PictureState::Succeeded)
}
