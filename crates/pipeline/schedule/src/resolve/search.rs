//! The search for versions that passed the right jobs together.
//!
//! It goes through the open pairs (input, upstream job) in order. For each it tries the job's
//! builds; a build vouches for every input that it carries a version of and that must have passed
//! its job. A build that contradicts a version chosen before is left out. When no build is left,
//! the search goes back to the pair before and tries the next build there. It is written as a stack
//! of frames, so that it can stop at a question, and so that a thousand upstream jobs need no deep
//! recursion.

use std::collections::HashSet;

use airside_model::{JobId, ResourceVersionId};

use super::choice::{Choice, Vouchers};
use super::walk::{Step, Walk};
use super::{Candidate, NoVersion, Reason};
use crate::graph::{Input, InputVersions};
use crate::history::WalkSubject;
use crate::{BuildKey, Carried, History};

/// All that decides how a search goes on.
type State = Vec<Option<(ResourceVersionId, Vouchers)>>;

/// A pair whose builds are being tried.
struct Frame {
    input: usize,
    job: JobId,
    walk: Walk,
    /// Changes that the present build made; empty if there is none.
    undo: Undo,
}

type Undo = Vec<(usize, Option<Choice>)>;

/// The next move of a search.
enum Heading {
    /// Goes to the next open pair.
    Down,
    /// Goes to the next build of the last pair.
    On,
}

pub(super) struct Search<'a> {
    job: JobId,
    inputs: Vec<&'a Input>,
    pins: Option<Vec<Option<ResourceVersionId>>>,
    choices: Vec<Option<Choice>>,
    frames: Vec<Frame>,
    heading: Heading,
    /// States from which there is no way on.
    doomed: HashSet<State>,
    /// Upstream builds of the job's last build; `None` until an input with `every` finds one.
    last_pipes: Option<Vec<(JobId, BuildKey)>>,
    tries: u32,
    pub(super) most_tries: u32,
    pub(super) gave_up: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(job: JobId, inputs: Vec<&'a Input>, most_tries: u32) -> Self {
        Self {
            job,
            choices: vec![None; inputs.len()],
            inputs,
            pins: None,
            frames: Vec::new(),
            heading: Heading::Down,
            doomed: HashSet::new(),
            last_pipes: None,
            tries: 0,
            most_tries,
            gave_up: false,
        }
    }

    /// Goes on from where it is. All that was decided before a question stays decided.
    pub(super) fn run<H: History>(
        &mut self,
        history: &H,
    ) -> Result<Vec<Candidate>, NoVersion<H::Error>> {
        if self.pins.is_none() {
            self.pins = Some(self.find_pins(history)?);
        }
        if self.frames.is_empty() && self.is_hopeless(history)? {
            return Err(NoVersion::None(Reason::NoSatisfiableBuilds));
        }
        loop {
            match self.heading {
                Heading::Down => match self.open_pair(history)? {
                    None => return self.candidates().map_err(NoVersion::None),
                    Some(frame) => {
                        self.frames.push(frame);
                        self.heading = Heading::On;
                    }
                },
                Heading::On => {
                    self.gave_up = self.tries >= self.most_tries;
                    if self.frames.is_empty() || self.gave_up {
                        return Err(NoVersion::None(Reason::NoSatisfiableBuilds));
                    }
                    self.try_build(history)?;
                }
            }
        }
    }

    fn find_pins<H: History>(
        &self,
        history: &H,
    ) -> Result<Vec<Option<ResourceVersionId>>, NoVersion<H::Error>> {
        let mut pins = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            pins.push(match &input.want {
                InputVersions::Pinned(pin) => match history.containing(input.resource, pin)? {
                    Some(version) => Some(version),
                    None => return Err(NoVersion::None(Reason::PinNotFound(pin.clone()))),
                },
                InputVersions::Latest | InputVersions::Every => None,
            });
        }
        Ok(pins)
    }

    /// Returns true if a job never had what an input takes from it. Then the builds of other jobs
    /// need not be tried: a new job at the end of a long history is the usual reason why nothing
    /// fits.
    fn is_hopeless<H: History>(&self, history: &H) -> Result<bool, H::Error> {
        for input in &self.inputs {
            let carrying = WalkSubject::Resource(input.resource);
            for job in &input.passed {
                if history
                    .older_build(*job, carrying, BuildKey::NEWEST)?
                    .is_none()
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The first input that lacks the word of an upstream job, with the builds to try for it.
    fn open_pair<H: History>(&mut self, history: &H) -> Result<Option<Frame>, H::Error> {
        for index in 0..self.inputs.len() {
            let input = self.inputs[index];
            for (place, job) in input.passed.iter().enumerate() {
                let choice = self.choices[index].as_ref();
                if choice.is_some_and(|choice| choice.vouchers.has(place)) {
                    continue;
                }
                if let Some(walk) = self.walk(history, index, *job)? {
                    return Ok(Some(Frame {
                        input: index,
                        job: *job,
                        walk,
                        undo: Vec::new(),
                    }));
                }
            }
        }
        Ok(None)
    }

    /// `None` if the choice is better left to the input's other jobs.
    fn walk<H: History>(
        &mut self,
        history: &H,
        index: usize,
        job: JobId,
    ) -> Result<Option<Walk>, H::Error> {
        let input = self.inputs[index];
        let is_open = self.choices[index].is_none();
        let walk = Walk::newest_first(job, input.resource, self.must_carry(index, job));
        if input.want == InputVersions::Every {
            self.find_last_pipes(history, input)?;
            let pipes = self.last_pipes.as_deref().unwrap_or_default();
            if let Some((_, used)) = pipes.iter().find(|(from, _)| *from == job) {
                return Ok(Some(walk.unused_first(*used)));
            }
            // This job is new to the input: go on from where the others left off, not from the
            // latest.
            if is_open && pipes.iter().any(|(from, _)| input.passed.contains(from)) {
                return Ok(None);
            }
        }
        Ok(Some(walk))
    }

    fn find_last_pipes<H: History>(&mut self, history: &H, input: &Input) -> Result<(), H::Error> {
        if self.last_pipes.is_none() {
            let last = history.last_use(self.job, input.resource)?;
            self.last_pipes = last.map(|last| last.pipes.to_vec());
        }
        Ok(())
    }

    /// Returns the versions that a build must carry to vouch for an input: the input's version, if
    /// it has one, and those of the other inputs that must have passed the same job; or else the
    /// one it is pinned to.
    fn must_carry(&self, index: usize, job: JobId) -> Vec<Carried> {
        let carried = |at: usize| {
            let choice = self.choices[at].as_ref()?;
            let input = self.inputs[at];
            input.passed.contains(&job).then_some(Carried {
                resource: input.resource,
                version: choice.version,
            })
        };
        let Some(own) = carried(index) else {
            let pin = self.pins.as_ref().and_then(|pins| pins[index]);
            let resource = self.inputs[index].resource;
            let pinned = pin.map(|version| Carried { resource, version });
            return pinned.into_iter().collect();
        };
        let others = (0..self.inputs.len()).filter(|at| *at != index);
        std::iter::once(own)
            .chain(others.filter_map(carried))
            .collect()
    }

    /// Takes back what the last pair's build did, and tries its next one.
    fn try_build<H: History>(&mut self, history: &H) -> Result<(), H::Error> {
        self.give_back();
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        let (input, job) = (frame.input, frame.job);
        let Some(step) = frame.walk.peek(history)? else {
            self.frames.pop();
            return Ok(());
        };
        let (undo, fits) = self.vouch(history, job, &step)?;
        let place = self.inputs[input].passed.iter().position(|one| *one == job);
        let fits = fits
            && self.choices[input]
                .as_ref()
                .zip(place)
                .is_some_and(|(choice, place)| choice.vouchers.has(place))
            && (self.doomed.is_empty() || !self.doomed.contains(&self.state()));
        if fits {
            self.heading = Heading::Down;
        } else {
            self.restore(&undo);
        }
        self.tries += 1;
        if let Some(frame) = self.frames.last_mut() {
            frame.walk.advance(step.then);
            frame.undo = if fits { undo } else { Vec::new() };
        }
        Ok(())
    }

    /// The last pair's build led nowhere.
    fn give_back(&mut self) {
        let undo = self
            .frames
            .last_mut()
            .map(|frame| std::mem::take(&mut frame.undo));
        if let Some(undo) = undo.filter(|undo| !undo.is_empty()) {
            let state = self.state();
            self.doomed.insert(state);
            self.restore(&undo);
        }
    }

    /// Lets a build vouch for all inputs it can. `false` if it contradicts a choice.
    fn vouch<H: History>(
        &mut self,
        history: &H,
        job: JobId,
        step: &Step<'_>,
    ) -> Result<(Undo, bool), H::Error> {
        let mut undo: Undo = Vec::new();
        for carried in step.build.carried {
            for index in 0..self.inputs.len() {
                let input = self.inputs[index];
                if input.resource != carried.resource || undo.iter().any(|(at, _)| *at == index) {
                    continue;
                }
                let Some(place) = input.passed.iter().position(|one| *one == job) else {
                    continue;
                };
                let choice = self.choices[index].as_ref();
                if choice.is_some_and(|choice| choice.version != carried.version) {
                    return Ok((undo, false));
                }
                let state = match history.version(*carried) {
                    Ok(state) => state,
                    Err(error) => {
                        self.restore(&undo);
                        return Err(error);
                    }
                };
                let pin = self.pins.as_ref().and_then(|pins| pins[index]);
                if state.is_some_and(|state| !state.enabled)
                    || pin.is_some_and(|pin| pin != carried.version)
                {
                    continue;
                }
                if choice.is_none() && state.is_none() {
                    return Ok((undo, true));
                }
                let vouched = Choice::vouched_for(choice, carried.version, place, step);
                undo.push((index, self.choices[index].replace(vouched)));
            }
        }
        Ok((undo, true))
    }

    fn restore(&mut self, undo: &Undo) {
        for (index, choice) in undo {
            self.choices[*index].clone_from(choice);
        }
    }

    fn state(&self) -> State {
        let choices = self.choices.iter();
        choices
            .map(|choice| {
                let choice = choice.as_ref()?;
                Some((choice.version, choice.vouchers.clone()))
            })
            .collect()
    }

    fn candidates(&self) -> Result<Vec<Candidate>, Reason> {
        let choices = self.choices.iter();
        choices
            .map(|choice| {
                let choice = choice.as_ref().ok_or(Reason::NoSatisfiableBuilds)?;
                Ok(Candidate {
                    version: choice.version,
                    builds: choice.builds.clone(),
                    more: choice.more,
                })
            })
            .collect()
    }
}
