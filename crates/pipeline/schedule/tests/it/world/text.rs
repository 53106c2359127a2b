//! Worlds as text.
//!
//! ```text
//! versions x: 1 2 -3          in this order; a minus is disabled
//! done a#4: x1 -> y2          a build of job a succeeded, took x1 and put y2
//! done a#7 of 4: x1 -> y2     its rerun
//! failed a#8: x2              took x2, and that was that
//! used #9: x1 src=x2 from 4 7 a build of the job that is scheduled, and the builds it came from
//! get src of x every trigger passed a b
//! get x pin ref=1
//! ```

use airside_model::{BuildId, JobId, ResourceId, Version};
use airside_schedule::graph::{Input, InputVersions};
use airside_schedule::history::VersionState;
use airside_schedule::{BuildKey, Carried, NameId, Order};

use super::{BuildRow, NOW, VersionRow, World, content, version_id};

pub(crate) fn parse(text: &str) -> World {
    let mut world = World::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (verb, rest) = line.split_once(' ').unwrap();
        match verb {
            "versions" => world.read_versions(rest),
            "done" => world.read_build(rest, true),
            "failed" => world.read_build(rest, false),
            "used" => world.read_build(rest, false),
            "get" => world.read_input(rest),
            other => panic!("what is {other:?}?"),
        }
    }
    world
}

fn id_of(names: &mut Vec<String>, name: &str) -> i64 {
    let at = names.iter().position(|known| known == name);
    let at = at.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    at as i64 + 1
}

impl World {
    pub(crate) fn resource(&mut self, name: &str) -> ResourceId {
        ResourceId(id_of(&mut self.resources, name))
    }

    fn read_versions(&mut self, text: &str) {
        let (name, numbers) = text.split_once(':').unwrap();
        let resource = self.resource(name);
        for number in numbers.split_whitespace() {
            let number: i64 = number.parse().unwrap();
            self.add_version(resource, number.abs(), number > 0);
        }
    }

    pub(crate) fn add_version(&mut self, resource: ResourceId, number: i64, enabled: bool) {
        let rows = self.versions.entry(resource).or_default();
        let order = Order(rows.len() as i64 + 1);
        rows.push(VersionRow {
            id: version_id(resource, number),
            state: VersionState { order, enabled },
            content: content(number),
        });
    }

    /// `x12`
    fn carried(&mut self, text: &str) -> Carried {
        let digits = text.find(|c: char| c.is_ascii_digit()).unwrap();
        let (name, number) = text.split_at(digits);
        let resource = self.resource(name);
        Carried {
            resource,
            version: version_id(resource, number.parse().unwrap()),
        }
    }

    /// `x12` or `name=x12`
    fn used(&mut self, text: &str) -> (NameId, Carried) {
        let (name, version) = text.split_once('=').unwrap_or_else(|| {
            let digits = text.find(|c: char| c.is_ascii_digit()).unwrap();
            (&text[..digits], text)
        });
        (self.names.intern(name), self.carried(version))
    }

    fn read_build(&mut self, text: &str, succeeded: bool) {
        let (head, tail) = text.split_once(':').unwrap();
        let (tail, from) = tail.split_once(" from ").unwrap_or((tail, ""));
        let (taken, made) = tail.split_once("->").unwrap_or((tail, ""));
        let (job, numbers) = head.split_once('#').unwrap();
        let job = match job {
            "" => NOW,
            name => JobId(id_of(&mut self.jobs, name)),
        };
        let (build, original) = numbers.split_once(" of ").unwrap_or((numbers, numbers));
        let (build, original) = (build.parse().unwrap(), original.parse().unwrap());
        let inputs: Vec<_> = taken.split_whitespace().map(|one| self.used(one)).collect();
        let outputs: Vec<_> = made
            .split_whitespace()
            .map(|one| self.carried(one))
            .collect();
        let taken: Vec<Carried> = inputs.iter().map(|(_, carried)| *carried).collect();
        let pipes = from.split_whitespace().map(|from| {
            let from = BuildId(from.parse().unwrap());
            let build = self.builds.iter().find(|build| build.key.build == from);
            build.map(|build| (build.job, build.key)).unwrap()
        });
        let mut pipes: Vec<_> = pipes.collect();
        pipes.sort();
        self.builds.push(BuildRow {
            job,
            key: BuildKey::rerun(BuildId(original), BuildId(build)),
            succeeded,
            carried: Carried::of_build(&outputs, &taken),
            inputs,
            pipes,
        });
    }

    fn read_input(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap();
        let mut input = Input {
            name: self.names.intern(name),
            resource: ResourceId(0),
            want: InputVersions::Latest,
            resource_is_pinned: false,
            passed: Vec::new(),
            trigger: false,
        };
        let mut resource = name.to_owned();
        while let Some(word) = words.next() {
            match word {
                "of" => resource = words.next().unwrap().to_owned(),
                "every" => input.want = InputVersions::Every,
                "trigger" => input.trigger = true,
                "pin" => {
                    let (key, value) = words.next().unwrap().split_once('=').unwrap();
                    input.want = InputVersions::Pinned(Version::from([(key, value)]));
                }
                "passed" => {
                    for job in words.by_ref() {
                        let job = JobId(id_of(&mut self.jobs, job));
                        input.passed.push(job);
                    }
                }
                other => panic!("what is {other:?} in {text:?}?"),
            }
        }
        input.passed.sort();
        input.resource = self.resource(&resource);
        self.inputs.push(input);
    }
}
