//! Decides about one job: create a build, start builds that wait, or say what they wait for.
//!
//! A pass looks at a [`JobState`] and returns actions; it does none of them. The driver carries
//! them out, updates the view, and makes another pass if the result asks for it. A build that waits
//! needs no retry: its wait ends with an [`crate::Event`].

mod freshness;
mod slots;
mod spacing;
mod wait;

use std::collections::HashMap;

use airside_model::{BuildId, ResourceId};

pub use self::freshness::Checked;
pub use self::slots::Group;
pub use self::spacing::JobSpacing;
pub use self::wait::Wait;
use crate::graph::{InputVersions, Job};
use crate::{BuildKey, Moment, NameId, Resolution};

/// The origin of a pending build, and so of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildOrigin {
    /// A person triggered it: it waits for checks that ended after that.
    Manual,
    /// An earlier pass created it.
    Trigger,
    Rerun(Original),
}

/// The inputs of its original that a rerun finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    Ready,
    /// The original itself never got its inputs.
    NoInputs,
    /// A version that it had is not there any more.
    Gone(NameId),
}

/// A build that has not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub key: BuildKey,
    pub origin: BuildOrigin,
    pub created: Moment,
    pub aborted: bool,
}

/// The pauses that keep a job from running anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    pub pipeline: bool,
    pub job: bool,
    /// True if the pipeline is archived: builds that wait are aborted.
    pub archived: bool,
}

impl Pauses {
    fn any(self) -> bool {
        self.pipeline || self.job
    }
}

/// All that a pass depends on.
#[derive(Clone, Copy, Debug)]
pub struct JobState<'a> {
    pub job: &'a Job,
    pub pauses: Pauses,
    /// Pending builds of this job, in any order.
    pub pending: &'a [Pending],
    pub group: Group,
    pub spacing: JobSpacing,
    /// Results of checks by resource. One that is missing was never checked.
    pub checked: &'a HashMap<ResourceId, Checked>,
    /// Resolved inputs; not used, and not computed, while the job or its pipeline is paused.
    pub inputs: &'a Resolution,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// This trigger has a version that the job never used.
    Create {
        because: NameId,
    },
    Start {
        build: BuildKey,
        inputs: InputsFrom,
    },
    Abort {
        build: BuildKey,
    },
    /// Check these resources now for the build. A check that is under way is not run twice.
    Check {
        build: BuildKey,
        resources: Vec<ResourceId>,
    },
    Wait {
        build: BuildKey,
        reason: Wait,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputsFrom {
    /// The inputs that this pass resolved.
    Resolution,
    /// The inputs that the original of a rerun had.
    Original(BuildId),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Next {
    #[default]
    Done,
    /// Carry out the actions, update the view, resolve anew and pass again.
    Again,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    pub actions: Vec<Action>,
    /// True if any input has a version that the job never used, trigger or not.
    pub has_new_inputs: bool,
    pub next: Next,
}

/// Decides about one job.
pub fn pass(state: &JobState<'_>) -> Pass {
    let mut pass = Pass::default();
    if !state.pauses.any() && !state.pauses.archived && state.inputs.is_determined() {
        create(state, &mut pass);
    }
    start(state, &mut pass);
    pass
}

/// The first trigger with a new version is reason enough, unless something waits already.
fn create(state: &JobState<'_>, pass: &mut Pass) {
    let new = |name: NameId| {
        let chosen = state.inputs.chosen(name);
        chosen.is_some_and(|chosen| chosen.first_occurrence)
    };
    let mut inputs = state.job.inputs.iter().filter(|input| new(input.name));
    pass.has_new_inputs = inputs.clone().next().is_some();
    let because = inputs.find(|input| input.trigger);
    if let Some(input) = because
        && state.pending.is_empty()
    {
        let because = input.name;
        pass.actions.push(Action::Create { because });
        pass.next = Next::Again;
    }
}

fn start(state: &JobState<'_>, pass: &mut Pass) {
    let mut pending: Vec<Pending> = state.pending.to_vec();
    pending.sort_by_key(|build| build.key);
    pending.retain(|build| {
        let aborted = build.aborted || state.pauses.archived;
        if aborted {
            pass.actions.push(Action::Abort { build: build.key });
        }
        !aborted
    });
    let (mut group, mut pace) = (state.group, state.spacing);
    let mut blocked: Option<BuildKey> = None;
    for (at, build) in pending.iter().enumerate() {
        let outcome = match blocked {
            Some(first) => Err(Wait::Behind(first)),
            None => match judge(state, group, build, &mut pass.actions) {
                Ok(_) if !pace.allows() => Err(Wait::Spacing),
                judged => judged,
            },
        };
        match outcome {
            Ok(inputs) => {
                let build = build.key;
                pass.actions.push(Action::Start { build, inputs });
                group.running += 1;
                pace = pace.after_start();
                if inputs == InputsFrom::Resolution && uses_up(state, at + 1 < pending.len()) {
                    pass.next = Next::Again;
                    break;
                }
            }
            Err(reason) => {
                // A rerun whose original has no inputs says nothing about those behind it.
                if !reason.is_of_the_original() && blocked.is_none() {
                    blocked = Some(build.key);
                }
                let build = build.key;
                pass.actions.push(Action::Wait { build, reason });
            }
        }
    }
}

/// Returns true if a build that starts takes its version away from those that come after it, as
/// with `every`.
fn uses_up(state: &JobState<'_>, others_wait: bool) -> bool {
    let every = state
        .job
        .inputs
        .iter()
        .any(|input| input.want == InputVersions::Every);
    every && (state.inputs.more || others_wait)
}

fn judge(
    state: &JobState<'_>,
    group: Group,
    build: &Pending,
    actions: &mut Vec<Action>,
) -> Result<InputsFrom, Wait> {
    if state.pauses.pipeline {
        return Err(Wait::PipelinePaused);
    }
    if state.pauses.job {
        return Err(Wait::JobPaused);
    }
    if let BuildOrigin::Rerun(original) = build.origin {
        match original {
            Original::Ready => {}
            Original::NoInputs => return Err(Wait::OriginalInputs),
            Original::Gone(input) => return Err(Wait::OriginalGone(input)),
        }
        slots::free(state.job, group, build.key)?;
        return Ok(InputsFrom::Original(build.key.original));
    }
    let is_determined = state.inputs.is_determined();
    // A build without inputs has no claim to a place, but may ask for the checks that could bring
    // them.
    if is_determined {
        slots::free(state.job, group, build.key)?;
    }
    let resources = freshness::stale(state.job, state.checked, build);
    if !resources.is_empty() {
        actions.push(Action::Check {
            build: build.key,
            resources: resources.clone(),
        });
        return Err(Wait::Checks(resources));
    }
    if is_determined {
        Ok(InputsFrom::Resolution)
    } else {
        Err(Wait::Inputs)
    }
}

/// Returns true if a limit on running builds, or their spacing, delays this build.
pub(crate) fn is_max_in_flight_reached(state: &JobState<'_>, build: &Pending) -> bool {
    !state.spacing.allows() || slots::free(state.job, state.group, build.key).is_err()
}

/// Returns true if the build waits for a check of this input.
pub(crate) fn is_input_stale(state: &JobState<'_>, build: &Pending, name: NameId) -> bool {
    let inputs = state.job.inputs.iter();
    let mut named = inputs.filter(|input| input.name == name);
    named.any(|input| {
        let checks = state.checked.get(&input.resource).copied();
        freshness::is_stale(input, checks.unwrap_or_default(), build)
    })
}
