//! Picks the versions for a job's next build.
//!
//! - `single` is an input without `passed`: pinned, latest, every;
//! - `group` are inputs that share `passed` jobs, directly or through others; `search` resolves
//!   one;
//! - `walk` is the order in which a search tries the builds of one upstream job.
//!
//! A [`Resolver`] can stop at any question and go on later, so that a search through many pages of
//! builds does not begin again with each page.

mod choice;
mod group;
mod search;
mod single;
mod walk;

use airside_model::{BuildId, JobId, ResourceVersionId, Version};

use self::search::Search;
use crate::graph::{Input, Job};
use crate::{Carried, History, NameId};

/// Maximum number of builds that a search tries. Beyond it nothing in the history fits, and the
/// work may grow without bound.
const MAX_TRIES: u32 = 50_000;

/// The reason why an input has no version, in Concourse's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    LatestNotFound,
    /// An input with `version: every` whose resource has no version to use.
    VersionNotFound,
    PinNotFound(Version),
    NoSatisfiableBuilds,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LatestNotFound => f.write_str("latest version of resource not found"),
            Self::VersionNotFound => f.write_str("version of resource not found"),
            Self::PinNotFound(pin) => {
                f.write_str("pinned version")?;
                for (key, value) in &pin.0 {
                    write!(f, " {key}:{value}")?;
                }
                f.write_str(" not found")
            }
            Self::NoSatisfiableBuilds => {
                f.write_str("no satisfiable builds from passed jobs found for set of inputs")
            }
        }
    }
}

/// The end of a try to find versions that found none.
enum NoVersion<E> {
    /// The history has to be asked first, or failed.
    Unanswered(E),
    /// There is none.
    None(Reason),
}

impl<E> From<E> for NoVersion<E> {
    fn from(error: E) -> Self {
        Self::Unanswered(error)
    }
}

/// The version that an input gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub carried: Carried,
    /// True if no build of the job had this version as this input yet: a trigger waits for that.
    pub first_occurrence: bool,
    /// The upstream builds that it comes from.
    pub passed: Vec<BuildId>,
}

/// The result of resolving a job's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// One for each input, in the order of the job.
    pub inputs: Vec<(NameId, Result<Chosen, Reason>)>,
    /// True if an input with `every` has more versions after this one: make another pass once these
    /// are used.
    pub more: bool,
    /// True if a search ended for its length, not for want of builds.
    pub gave_up: bool,
}

impl Resolution {
    /// Returns true if every input has a version.
    pub fn is_determined(&self) -> bool {
        self.inputs.iter().all(|(_, outcome)| outcome.is_ok())
    }

    pub fn chosen(&self, input: NameId) -> Option<&Chosen> {
        let (_, outcome) = self.inputs.iter().find(|(name, _)| *name == input)?;
        outcome.as_ref().ok()
    }
}

/// Resolves from the beginning; see [`Resolver`] for going on where it stopped.
pub fn resolve<H: History>(history: &H, job: &Job) -> Result<Resolution, H::Error> {
    Resolver::new(job).resume(history)
}

/// One job's inputs on their way to versions.
pub struct Resolver<'a> {
    job: JobId,
    inputs: &'a [Input],
    tasks: Vec<Task<'a>>,
    /// Tasks before this one are done.
    at: usize,
    found: Vec<Option<Result<Candidate, Reason>>>,
    gave_up: bool,
}

enum Task<'a> {
    Single(usize),
    Group(Vec<usize>, Box<Search<'a>>),
}

/// A version that was picked, before it is known whether it is new to the job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    version: ResourceVersionId,
    builds: Vec<BuildId>,
    more: bool,
}

impl<'a> Resolver<'a> {
    pub fn new(job: &'a Job) -> Self {
        let mut tasks: Vec<Task<'a>> = Vec::new();
        for (index, input) in job.inputs.iter().enumerate() {
            if input.passed.is_empty() {
                tasks.push(Task::Single(index));
            }
        }
        for group in group::groups(&job.inputs) {
            let inputs = group.iter().map(|index| &job.inputs[*index]).collect();
            let search = Box::new(Search::new(job.id, inputs, MAX_TRIES));
            tasks.push(Task::Group(group, search));
        }
        Self {
            job: job.id,
            inputs: &job.inputs,
            tasks,
            at: 0,
            found: vec![None; job.inputs.len()],
            gave_up: false,
        }
    }

    /// Limits a search to this number of builds, for tests.
    pub fn with_most_tries(mut self, tries: u32) -> Self {
        for task in &mut self.tasks {
            if let Task::Group(_, search) = task {
                search.most_tries = tries;
            }
        }
        self
    }

    /// Goes on until all is decided or the history has to be asked. The history may have learnt
    /// meanwhile, but must not have changed: once [`crate::View::ticket`] is another one, begin
    /// anew.
    pub fn resume<H: History>(&mut self, history: &H) -> Result<Resolution, H::Error> {
        while let Some(task) = self.tasks.get_mut(self.at) {
            match task {
                Task::Single(index) => {
                    let input = &self.inputs[*index];
                    self.found[*index] = Some(match single::resolve(history, self.job, input) {
                        Ok(candidate) => Ok(candidate),
                        Err(NoVersion::None(reason)) => Err(reason),
                        Err(NoVersion::Unanswered(error)) => return Err(error),
                    });
                }
                Task::Group(group, search) => {
                    let outcome = match search.run(history) {
                        Ok(candidates) => Ok(candidates),
                        Err(NoVersion::None(reason)) => Err(reason),
                        Err(NoVersion::Unanswered(error)) => return Err(error),
                    };
                    self.gave_up |= search.gave_up;
                    for (place, index) in group.iter().enumerate() {
                        self.found[*index] = Some(match &outcome {
                            Ok(candidates) => Ok(candidates[place].clone()),
                            Err(reason) => Err(reason.clone()),
                        });
                    }
                }
            }
            self.at += 1;
        }
        self.finish(history)
    }

    fn finish<H: History>(&self, history: &H) -> Result<Resolution, H::Error> {
        let mut resolution = Resolution {
            gave_up: self.gave_up,
            ..Resolution::default()
        };
        for (input, found) in self.inputs.iter().zip(&self.found) {
            let outcome = match found {
                Some(Ok(candidate)) => {
                    resolution.more |= candidate.more;
                    let carried = Carried {
                        resource: input.resource,
                        version: candidate.version,
                    };
                    Ok(Chosen {
                        carried,
                        first_occurrence: !history.was_used(self.job, input.name, carried)?,
                        passed: candidate.builds.clone(),
                    })
                }
                Some(Err(reason)) => Err(reason.clone()),
                None => Err(Reason::NoSatisfiableBuilds),
            };
            resolution.inputs.push((input.name, outcome));
        }
        Ok(resolution)
    }
}
