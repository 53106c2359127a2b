//! The artifacts that are there when a step begins, to warn of files of those that no earlier step
//! makes. Steps are checked in the order in which they run, so each adds what it makes.

use std::collections::{HashMap, HashSet};

use super::Checker;
use crate::{Job, Leaf, PutStep, TaskStep};

/// The artifacts that the steps of a job made before the one that is checked.
#[derive(Default)]
pub(crate) struct Artifacts {
    /// The names that any step of the job makes.
    of_the_job: HashSet<String>,
    /// Times at which each artifact was made, counted in artifacts.
    made: HashMap<String, Vec<usize>>,
    /// Times at which steps ran that may have made any artifact: tasks from files, and prototypes.
    unknown: Vec<usize>,
    count: usize,
    /// Ranges of artifacts that other branches of `in_parallel` make: they may not be there yet.
    beside: Vec<(usize, usize)>,
}

/// The time at which a job makes an artifact, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArtifactState {
    /// The artifact is there, or may be.
    Made,
    /// A step in another branch of `in_parallel` makes it.
    Beside,
    /// A later step makes it.
    Later,
    Never,
}

impl Artifacts {
    pub(super) fn of(job: &Job) -> Self {
        let mut of_the_job = HashSet::new();
        job.visit_leaves(&mut |leaf| of_the_job.extend(outputs(leaf).into_iter().flatten()));
        Self {
            of_the_job,
            ..Self::default()
        }
    }

    /// Adds what a step makes; `None` is anything.
    fn add(&mut self, names: Option<Vec<String>>) {
        self.count += 1;
        match names {
            Some(names) => {
                for name in names {
                    self.made.entry(name).or_default().push(self.count);
                }
            }
            None => self.unknown.push(self.count),
        }
    }

    fn state(&self, name: &str) -> ArtifactState {
        let is_there = |at: &usize| {
            let is_beside = |(from, to): &(usize, usize)| from < at && at <= to;
            !self.beside.iter().any(is_beside)
        };
        let made = self.made.get(name).map_or(&[][..], Vec::as_slice);
        // The latest are most likely there.
        let mut known = self.unknown.iter().rev().chain(made.iter().rev());
        if known.any(is_there) {
            ArtifactState::Made
        } else if !made.is_empty() {
            ArtifactState::Beside
        } else if self.of_the_job.contains(name) {
            ArtifactState::Later
        } else {
            ArtifactState::Never
        }
    }
}

/// Returns the names of the artifacts that a step makes, or `None` if those are not known.
fn outputs(leaf: Leaf<'_>) -> Option<Vec<String>> {
    let names = match leaf {
        Leaf::Get(step) => vec![step.name.clone()],
        Leaf::Put(step) if step.no_get => Vec::new(),
        Leaf::Put(step) => vec![step.name.clone()],
        Leaf::Task(step) => task_outputs(step)?,
        Leaf::Run(_) => return None,
        Leaf::SetPipeline(_) | Leaf::LoadVar(_) => Vec::new(),
    };
    // A variable may be any name.
    let is_known = names.iter().all(|name| !name.contains("(("));
    is_known.then_some(names)
}

fn task_outputs(step: &TaskStep) -> Option<Vec<String>> {
    let outputs = step.config.as_ref()?.outputs.iter();
    let names = outputs.map(|output| {
        let mapped = step.output_mapping.get(&output.name);
        mapped.unwrap_or(&output.name).clone()
    });
    Some(names.collect())
}

impl Checker<'_> {
    /// Notes what a step made, once it has been checked itself.
    pub(crate) fn step_makes(&mut self, leaf: Leaf<'_>) {
        if let Some(artifacts) = &mut self.artifacts {
            artifacts.add(outputs(leaf));
        }
    }

    /// Checks branches that run at the same time: none may count on what another makes.
    pub(crate) fn beside_each_other<T>(
        &mut self,
        branches: impl Iterator<Item = T>,
        mut check: impl FnMut(&mut Self, T),
    ) {
        let count = |checker: &Self| checker.artifacts.as_ref().map_or(0, |made| made.count);
        let start = count(self);
        for branch in branches {
            let own = count(self);
            if let Some(artifacts) = &mut self.artifacts {
                artifacts.beside.push((start, own));
            }
            check(self, branch);
            if let Some(artifacts) = &mut self.artifacts {
                artifacts.beside.pop();
            }
        }
    }

    /// Warns if a path such as `repo/ci/unit.yml` begins with an artifact that is not there when
    /// the step at `path` begins.
    pub(crate) fn artifact_is_made(&mut self, file: &str, path: &str, field: &str) {
        let artifact = file.split('/').next().unwrap_or_default();
        let Some(made) = self.artifacts.as_ref() else {
            return;
        };
        if artifact.is_empty() || artifact.contains("((") {
            return;
        }
        let why = match made.state(artifact) {
            ArtifactState::Made => return,
            ArtifactState::Never => "no step of this job makes it",
            ArtifactState::Later => "only a later step of this job makes it",
            ArtifactState::Beside => {
                "only a step in another branch of `in_parallel` makes it, which may not have run yet"
            }
        };
        let message = format!("{path}: `{field}` is in the artifact `{artifact}`, but {why}");
        let place = format!("{path}.{field}");
        let place = match self.places.find(&place) {
            Some(_) => place,
            None => path.to_owned(),
        };
        self.warning("missing_artifact", &place, message);
    }

    /// Warns of inputs of a task's own config that are not there when it begins.
    pub(crate) fn inputs_are_made(&mut self, step: &TaskStep, path: &str) {
        let inputs = step.config.iter().flat_map(|config| &config.inputs);
        for (index, input) in inputs.enumerate().filter(|(_, input)| !input.optional) {
            let mapped = step.input_mapping.get(&input.name).unwrap_or(&input.name);
            self.artifact_is_made(mapped, path, &format!("config.inputs[{index}]"));
        }
    }

    /// Warns of artifacts that a put names as its inputs and that are not there when it begins.
    pub(crate) fn put_inputs_are_made(&mut self, step: &PutStep, path: &str) {
        use airside_model::plan::PutInputs;
        let Some(PutInputs::Named(names)) = &step.inputs else {
            return;
        };
        for (index, name) in names.iter().enumerate() {
            self.artifact_is_made(name, path, &format!("inputs[{index}]"));
        }
    }
}
