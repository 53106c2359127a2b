//! A slow solver, for comparison: it lists every way to pick upstream builds, in order of
//! preference, and takes the first that breaks no rule. Rules are looked at when a way is complete,
//! never on the way.
//!
//! It knows worlds in which every version exists and at most one input has both `every` and
//! `passed`.

use airside_model::{BuildId, JobId, ResourceVersionId};
use airside_schedule::graph::{Input, InputVersions};
use airside_schedule::history::WalkSubject;
use airside_schedule::resolve::Chosen;
use airside_schedule::{BuildKey, Carried, History, Order, Reason, Resolution};

use crate::world::{BuildRow, NOW, World};

/// One build that was picked for one input.
#[derive(Clone, Copy)]
struct Pick<'a> {
    input: usize,
    build: &'a BuildRow,
    /// Set for a version that the job has not used: true if others come after it.
    unused: Option<bool>,
}

pub(crate) fn solve(world: &World) -> Resolution {
    let mut outcomes: Vec<Option<Result<Chosen, Reason>>> = vec![None; world.inputs.len()];
    let mut more = false;
    for (index, input) in world.inputs.iter().enumerate() {
        if input.passed.is_empty() {
            let (outcome, has_more) = alone(world, input);
            more |= has_more;
            outcomes[index] =
                Some(outcome.map(|version| chosen(world, input, version, Vec::new())));
        }
    }
    while let Some(first) = outcomes.iter().position(Option::is_none) {
        let group = together(world, first);
        let (found, has_more) = solve_group(world, &group);
        more |= has_more;
        for (place, index) in group.iter().enumerate() {
            let outcome = found.as_ref().map(|found| found[place].clone());
            outcomes[*index] = Some(outcome.map_err(Clone::clone));
        }
    }
    let names = world.inputs.iter().map(|input| input.name);
    Resolution {
        inputs: names.zip(outcomes.into_iter().flatten()).collect(),
        more,
        gave_up: false,
    }
}

fn chosen(
    world: &World,
    input: &Input,
    version: ResourceVersionId,
    passed: Vec<BuildId>,
) -> Chosen {
    let carried = Carried {
        resource: input.resource,
        version,
    };
    let Ok(used) = world.was_used(NOW, input.name, carried);
    Chosen {
        carried,
        first_occurrence: !used,
        passed,
    }
}

fn alone(world: &World, input: &Input) -> (Result<ResourceVersionId, Reason>, bool) {
    let rows = world.rows(input.resource);
    let mut usable: Vec<(Order, ResourceVersionId)> = rows
        .iter()
        .filter(|row| row.state.enabled)
        .map(|row| (row.state.order, row.id))
        .collect();
    usable.sort();
    match &input.want {
        InputVersions::Pinned(pin) => {
            let fitting = rows.iter().filter(|row| row.content.contains(pin));
            let found = fitting.max_by_key(|row| row.state.order).map(|row| row.id);
            (found.ok_or_else(|| Reason::PinNotFound(pin.clone())), false)
        }
        InputVersions::Latest => {
            let last = usable.last().map(|(_, id)| *id);
            (last.ok_or(Reason::LatestNotFound), false)
        }
        InputVersions::Every => {
            let used: Option<Order> = rows
                .iter()
                .filter(|row| {
                    let mut builds = world.builds.iter().filter(|build| build.job == NOW);
                    builds.any(|build| build.inputs.iter().any(|(_, used)| used.version == row.id))
                })
                .map(|row| row.state.order)
                .max();
            let after = usable.iter().filter(|(order, _)| Some(*order) > used);
            let after: Vec<_> = after.collect();
            match (used, after.first(), usable.last()) {
                (Some(_), Some((_, next)), _) => (Ok(*next), after.len() > 1),
                (_, _, Some((_, last))) => (Ok(*last), false),
                (_, _, None) => (Err(Reason::VersionNotFound), false),
            }
        }
    }
}

/// The inputs that hang together with one, by adding until nothing changes.
fn together(world: &World, first: usize) -> Vec<usize> {
    let mut group = vec![first];
    loop {
        let more: Vec<usize> = (0..world.inputs.len())
            .filter(|index| !group.contains(index))
            .filter(|index| {
                let passed = &world.inputs[*index].passed;
                let mut members = group.iter().map(|member| &world.inputs[*member]);
                members.any(|member| member.passed.iter().any(|job| passed.contains(job)))
            })
            .collect();
        if more.is_empty() {
            group.sort();
            return group;
        }
        group.extend(more);
    }
}

fn solve_group(world: &World, group: &[usize]) -> (Result<Vec<Chosen>, Reason>, bool) {
    let inputs: Vec<&Input> = group.iter().map(|index| &world.inputs[*index]).collect();
    for input in &inputs {
        if let InputVersions::Pinned(pin) = &input.want
            && let Ok(None) = world.containing(input.resource, pin)
        {
            return (Err(Reason::PinNotFound(pin.clone())), false);
        }
    }
    let group = Group { world, inputs };
    match group.first_way(&mut Vec::new()) {
        None => (Err(Reason::NoSatisfiableBuilds), false),
        Some(way) => {
            let found = (0..group.inputs.len())
                .map(|at| {
                    let version = group.assigned(&way, at).unwrap().0;
                    let vouch =
                        |pick: &&Pick<'_>| group.version_in(pick.build, at) == Some(version);
                    let mut builds: Vec<BuildId> = Vec::new();
                    for pick in way.iter().filter(vouch) {
                        let id = pick.build.key.build;
                        if !builds.contains(&id) {
                            builds.push(id);
                        }
                    }
                    chosen(world, group.inputs[at], version, builds)
                })
                .collect();
            let more = way.iter().any(|pick| pick.unused == Some(true));
            (Ok(found), more)
        }
    }
}

struct Group<'a> {
    world: &'a World,
    inputs: Vec<&'a Input>,
}

impl<'a> Group<'a> {
    /// The version that a build would give an input: the first it carries that may be used.
    fn version_in(&self, build: &BuildRow, at: usize) -> Option<ResourceVersionId> {
        let input = self.inputs[at];
        if !input.passed.contains(&build.job) {
            return None;
        }
        let mut carried = build.carried.iter();
        carried
            .find(|carried| {
                let Ok(state) = self.world.version(**carried);
                let fits = match &input.want {
                    InputVersions::Pinned(pin) => {
                        self.world.containing(input.resource, pin) == Ok(Some(carried.version))
                    }
                    InputVersions::Latest | InputVersions::Every => true,
                };
                carried.resource == input.resource && state.unwrap().enabled && fits
            })
            .map(|carried| carried.version)
    }

    /// Returns the version of an input, from the first pick that has one for it, and that pick.
    fn assigned(&self, way: &[Pick<'_>], at: usize) -> Option<(ResourceVersionId, usize)> {
        let mut picks = way.iter().enumerate();
        picks.find_map(|(place, pick)| Some((self.version_in(pick.build, at)?, place)))
    }

    fn is_vouched(&self, way: &[Pick<'_>], at: usize, job: JobId) -> bool {
        let Some((version, _)) = self.assigned(way, at) else {
            return false;
        };
        let mut picks = way.iter().filter(|pick| pick.build.job == job);
        picks.any(|pick| self.version_in(pick.build, at) == Some(version))
    }

    fn pipes(&self, at: usize) -> Vec<(JobId, BuildKey)> {
        let Ok(last) = self.world.last_use(NOW, self.inputs[at].resource);
        let pipes = last.map(|last| last.pipes.to_vec()).unwrap_or_default();
        let passed = &self.inputs[at].passed;
        let mut pipes = pipes.into_iter();
        let is_every = self.inputs[at].want == InputVersions::Every;
        pipes
            .by_ref()
            .filter(|(job, _)| is_every && passed.contains(job))
            .collect()
    }

    fn open(&self, way: &[Pick<'_>]) -> Option<(usize, JobId)> {
        (0..self.inputs.len()).find_map(|at| {
            let pipes = self.pipes(at);
            let is_new = self.assigned(way, at).is_none();
            let mut jobs = self.inputs[at].passed.iter();
            let job = jobs.find(|job| {
                let leads = pipes.is_empty() || pipes.iter().any(|(from, _)| from == *job);
                !self.is_vouched(way, at, **job) && (leads || !is_new)
            });
            job.map(|job| (at, *job))
        })
    }

    /// A job's succeeded builds with the resource, in the order in which they are tried.
    fn ordered(&self, at: usize, job: JobId) -> Vec<(&'a BuildRow, Option<bool>)> {
        let carrying = WalkSubject::Resource(self.inputs[at].resource);
        let mut builds: Vec<&BuildRow> = self.world.carrying(job, carrying).collect();
        builds.sort_by_key(|build| build.key);
        let pipes = self.pipes(at);
        let Some((_, used)) = pipes.iter().find(|(from, _)| *from == job) else {
            return builds
                .into_iter()
                .rev()
                .map(|build| (build, None))
                .collect();
        };
        let (newer, older): (Vec<&BuildRow>, Vec<&BuildRow>) =
            builds.into_iter().partition(|build| {
                let is_its_rerun = !used.is_rerun() && build.key.original == used.build;
                build.key > *used && !is_its_rerun
            });
        let last = newer.len().saturating_sub(1);
        let newer = newer.into_iter().enumerate();
        let older = older.into_iter().filter(|build| build.key <= *used).rev();
        newer
            .map(|(place, build)| (build, Some(place < last)))
            .chain(older.map(|build| (build, None)))
            .collect()
    }

    fn first_way(&self, way: &mut Vec<Pick<'a>>) -> Option<Vec<Pick<'a>>> {
        let Some((input, job)) = self.open(way) else {
            return self.is_right(way).then(|| way.clone());
        };
        for (build, unused) in self.ordered(input, job) {
            way.push(Pick {
                input,
                build,
                unused,
            });
            if self.is_vouched(way, input, job)
                && let Some(found) = self.first_way(way)
            {
                return Some(found);
            }
            way.pop();
        }
        None
    }

    fn is_right(&self, way: &[Pick<'_>]) -> bool {
        way.iter().enumerate().all(|(place, pick)| {
            (0..self.inputs.len()).all(|at| {
                let input = self.inputs[at];
                let Some((version, since)) = self.assigned(way, at) else {
                    return false;
                };
                if since >= place || !input.passed.contains(&pick.build.job) {
                    return true;
                }
                // What was decided before must not be contradicted by the first version of the
                // resource.
                let mut carried = pick.build.carried.iter();
                let first = carried.find(|carried| carried.resource == input.resource);
                let agrees = first.is_none_or(|first| first.version == version);
                // And a build that is looked up for its version must carry all that is decided.
                let is_looked_up = pick.unused.is_none()
                    && self
                        .assigned(way, pick.input)
                        .is_some_and(|(_, since)| since < place);
                let carries = pick.build.carried.iter().any(|one| one.version == version);
                agrees && (carries || !is_looked_up)
            })
        })
    }
}
