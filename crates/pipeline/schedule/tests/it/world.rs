//! A pipeline and its past for tests, whole and in memory.
//!
//! [`World`] answers [`History`] by looking through everything, and a [`Question`] as the store
//! would: a page at a time, with a count of the rows.

mod answer;
mod text;

use std::collections::HashMap;
use std::convert::Infallible;

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId, Version};
use airside_schedule::graph::{Input, Job};
use airside_schedule::history::{LastUse, Placed, Succeeded, VersionState, WalkSubject};
use airside_schedule::{
    BuildKey, Carried, History, Learnt, NameId, Names, Order, Resolution, Resolver, View,
};

pub(crate) use self::answer::AskedQuestions;
pub(crate) use self::text::parse;

/// The job that is scheduled.
pub(crate) const NOW: JobId = JobId(1000);

#[derive(Clone, Debug)]
pub(crate) struct VersionRow {
    pub(crate) id: ResourceVersionId,
    pub(crate) state: VersionState,
    pub(crate) content: Version,
}

#[derive(Clone, Debug)]
pub(crate) struct BuildRow {
    pub(crate) job: JobId,
    pub(crate) key: BuildKey,
    pub(crate) succeeded: bool,
    pub(crate) carried: Vec<Carried>,
    pub(crate) inputs: Vec<(NameId, Carried)>,
    /// One for each upstream job.
    pub(crate) pipes: Vec<(JobId, BuildKey)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) names: Names,
    pub(crate) resources: Vec<String>,
    pub(crate) jobs: Vec<String>,
    pub(crate) versions: HashMap<ResourceId, Vec<VersionRow>>,
    pub(crate) builds: Vec<BuildRow>,
    pub(crate) inputs: Vec<Input>,
}

/// A version's id tells its resource and its number.
pub(crate) fn version_id(resource: ResourceId, number: i64) -> ResourceVersionId {
    ResourceVersionId(resource.0 * 1_000_000 + number)
}

/// Returns the content of a test's version: its number, and if that is odd.
pub(crate) fn content(number: i64) -> Version {
    let parity = if number % 2 == 0 { "even" } else { "odd" };
    Version::from([("ref", number.to_string()), ("parity", parity.to_owned())])
}

impl World {
    pub(crate) fn job(&self) -> Job {
        Job {
            id: NOW,
            inputs: self.inputs.clone(),
            serial_groups: Vec::new(),
            max_in_flight: None,
        }
    }

    pub(crate) fn rows(&self, resource: ResourceId) -> &[VersionRow] {
        self.versions.get(&resource).map_or(&[], Vec::as_slice)
    }

    fn row(&self, carried: Carried) -> Option<&VersionRow> {
        let mut rows = self.rows(carried.resource).iter();
        rows.find(|row| row.id == carried.version)
    }

    pub(crate) fn succeeded(&self, job: JobId) -> impl Iterator<Item = &BuildRow> {
        let of_job = move |build: &&BuildRow| build.succeeded && build.job == job;
        self.builds.iter().filter(of_job)
    }

    pub(crate) fn carrying(
        &self,
        job: JobId,
        carrying: WalkSubject,
    ) -> impl Iterator<Item = &BuildRow> {
        self.succeeded(job).filter(move |build| match carrying {
            WalkSubject::Version(carried) => build.carried.contains(&carried),
            WalkSubject::Resource(resource) => {
                let mut carried = build.carried.iter();
                carried.any(|carried| carried.resource == resource)
            }
        })
    }

    fn last_user(&self, job: JobId, resource: ResourceId) -> Option<(Order, &BuildRow)> {
        let builds = self.builds.iter().filter(|build| build.job == job);
        let uses = builds.flat_map(|build| {
            let inputs = build.inputs.iter();
            inputs.map(move |(_, carried)| (*carried, build))
        });
        uses.filter(|(carried, _)| carried.resource == resource)
            .filter_map(|(carried, build)| Some((self.row(carried)?.state.order, build)))
            .max_by_key(|(order, build)| (*order, build.key.build))
    }

    /// Resolves through a view that asks this world, and counts what it asked.
    pub(crate) fn resolve_with(&self, view: &mut View) -> (Resolution, AskedQuestions) {
        self.resolve_job(view, &self.job())
    }

    pub(crate) fn resolve_job(&self, view: &mut View, job: &Job) -> (Resolution, AskedQuestions) {
        let mut resolver = Resolver::new(job);
        let mut asked = AskedQuestions::default();
        loop {
            match resolver.resume(view) {
                Ok(resolution) => return (resolution, asked),
                Err(question) => {
                    let answer = self.answer(&question, view.page(), &mut asked);
                    let learnt = view.learn(view.ticket(), &question, answer);
                    assert_eq!(learnt, Ok(Learnt::Yes));
                    assert!(asked.questions < 100_000, "asks without end: {question:?}");
                }
            }
        }
    }

    pub(crate) fn resource_name(&self, id: ResourceId) -> &str {
        &self.resources[id.0 as usize - 1]
    }

    /// A resolution as the cases write it.
    pub(crate) fn show(&self, resolution: &Resolution) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (name, outcome) in &resolution.inputs {
            let name = self.names.name(*name);
            lines.push(match outcome {
                Err(reason) => format!("{name}: {reason}"),
                Ok(chosen) => {
                    let resource = self.resource_name(chosen.carried.resource);
                    let number = chosen.carried.version.0 % 1_000_000;
                    let new = if chosen.first_occurrence { " new" } else { "" };
                    let builds: Vec<String> = chosen
                        .passed
                        .iter()
                        .map(|BuildId(id)| id.to_string())
                        .collect();
                    let via = if builds.is_empty() { "" } else { " via " };
                    format!("{name} = {resource}{number}{new}{via}{}", builds.join(" "))
                }
            });
        }
        lines.extend(resolution.more.then(|| "more".to_owned()));
        lines.extend(resolution.gave_up.then(|| "gave up".to_owned()));
        lines
    }
}

fn placed(row: &VersionRow) -> Placed {
    Placed {
        order: row.state.order,
        version: row.id,
    }
}

fn show_build(build: &BuildRow) -> Succeeded<'_> {
    Succeeded {
        key: build.key,
        carried: &build.carried,
    }
}

impl History for World {
    type Error = Infallible;

    fn version(&self, carried: Carried) -> Result<Option<VersionState>, Infallible> {
        Ok(self.row(carried).map(|row| row.state))
    }

    fn newest_enabled(
        &self,
        resource: ResourceId,
        up_to: Order,
    ) -> Result<Option<Placed>, Infallible> {
        let rows = self.rows(resource).iter().filter(|row| row.state.enabled);
        let rows = rows.filter(|row| row.state.order <= up_to);
        Ok(rows.max_by_key(|row| row.state.order).map(placed))
    }

    fn next_enabled(
        &self,
        resource: ResourceId,
        after: Order,
    ) -> Result<Option<Placed>, Infallible> {
        let rows = self.rows(resource).iter().filter(|row| row.state.enabled);
        let rows = rows.filter(|row| row.state.order > after);
        Ok(rows.min_by_key(|row| row.state.order).map(placed))
    }

    fn containing(
        &self,
        resource: ResourceId,
        pin: &Version,
    ) -> Result<Option<ResourceVersionId>, Infallible> {
        let rows = self.rows(resource).iter();
        let rows = rows.filter(|row| row.content.contains(pin));
        Ok(rows.max_by_key(|row| row.state.order).map(|row| row.id))
    }

    fn was_used(&self, job: JobId, input: NameId, carried: Carried) -> Result<bool, Infallible> {
        let mut builds = self.builds.iter().filter(|build| build.job == job);
        Ok(builds.any(|build| build.inputs.contains(&(input, carried))))
    }

    fn last_use(
        &self,
        job: JobId,
        resource: ResourceId,
    ) -> Result<Option<LastUse<'_>>, Infallible> {
        Ok(self.last_user(job, resource).map(|(order, build)| LastUse {
            order,
            pipes: &build.pipes,
        }))
    }

    fn older_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        before: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Infallible> {
        let builds = self.carrying(job, carrying);
        let builds = builds.filter(|build| build.key < before);
        Ok(builds.max_by_key(|build| build.key).map(show_build))
    }

    fn newer_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        after: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Infallible> {
        let builds = self.carrying(job, carrying);
        let builds = builds.filter(|build| build.key > after);
        Ok(builds.min_by_key(|build| build.key).map(show_build))
    }
}
