//! The reasons why a pending build does not run: `fly`'s build preparation, from the same state as
//! a pass.

use airside_model::BuildId;

use crate::pass::{BuildOrigin, JobState, Original, Pending};
use crate::pass::{is_input_stale, is_max_in_flight_reached};
use crate::{NameId, Names};

/// While a manual build's checks are under way.
const CHECKING: &str = "checking for latest available versions";
/// The inputs were resolved before the job had this one.
const NOT_INCLUDED: &str = "input is not included in resolved candidates";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blocking {
    #[default]
    No,
    Yes,
}

impl Blocking {
    /// Returns the text that `fly` reads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "not_blocking",
            Self::Yes => "blocking",
        }
    }
}

impl From<bool> for Blocking {
    fn from(blocks: bool) -> Self {
        if blocks { Self::Yes } else { Self::No }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    pub build: BuildId,
    pub paused_pipeline: Blocking,
    pub paused_job: Blocking,
    pub max_running_builds: Blocking,
    /// State of each input, in the order of the job.
    pub inputs: Vec<(NameId, Blocking)>,
    pub inputs_satisfied: Blocking,
    pub missing_input_reasons: Vec<(NameId, String)>,
}

impl Preparation {
    /// Returns the preparation of a build that started, or that belongs to no job.
    pub fn nothing_blocks(build: BuildId) -> Self {
        Self {
            build,
            paused_pipeline: Blocking::No,
            paused_job: Blocking::No,
            max_running_builds: Blocking::No,
            inputs: Vec::new(),
            inputs_satisfied: Blocking::No,
            missing_input_reasons: Vec::new(),
        }
    }
}

/// Returns what a pending build waits for, by the state of its job.
pub fn preparation(state: &JobState<'_>, build: &Pending, names: &Names) -> Preparation {
    let mut preparation = Preparation {
        paused_pipeline: state.pauses.pipeline.into(),
        paused_job: state.pauses.job.into(),
        max_running_builds: is_max_in_flight_reached(state, build).into(),
        ..Preparation::nothing_blocks(build.key.build)
    };
    for input in &state.job.inputs {
        let reason = match build.origin {
            BuildOrigin::Rerun(original) => missing_in_original(original, input.name, names),
            BuildOrigin::Manual | BuildOrigin::Trigger => missing(state, build, input.name),
        };
        let blocking = Blocking::from(reason.is_some());
        preparation.inputs.push((input.name, blocking));
        if let Some(reason) = reason {
            preparation.inputs_satisfied = Blocking::Yes;
            preparation.missing_input_reasons.push((input.name, reason));
        }
    }
    preparation
}

fn missing(state: &JobState<'_>, build: &Pending, name: NameId) -> Option<String> {
    let resolved = state.inputs.inputs.iter().find(|(input, _)| *input == name);
    match resolved {
        None => Some(NOT_INCLUDED.to_owned()),
        Some((_, Err(reason))) => Some(reason.to_string()),
        Some((_, Ok(_))) => is_input_stale(state, build, name).then(|| CHECKING.to_owned()),
    }
}

fn missing_in_original(original: Original, name: NameId, names: &Names) -> Option<String> {
    match original {
        Original::Ready => None,
        Original::NoInputs => Some(NOT_INCLUDED.to_owned()),
        Original::Gone(gone) => (gone == name).then(|| {
            let name = names.name(name);
            format!("chosen version of input {name} not available")
        }),
    }
}
