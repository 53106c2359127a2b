//! The pass of a job and build preparation, by the table in `tests/passes.txt`.
//!
//! ```text
//! == what it shows
//! job max 1                        or: job (no limit), job trigger-off, job rerun-off
//! get x [trigger] [every] [passed] [pinned] : 2 new | 2 old | missing
//! pace one | rest                  what the spacing of builds allows; without: there is none
//! more                             more versions for every
//! paused job | pipeline | archived
//! group 1 running, 4 first         builds that run; the first rival
//! checked x ended 20 due 80        its last check and when the next is due
//! pending 5 manual at 10           or trigger; or: pending 7 rerun of 3 ready | empty | without x
//! pending 5 manual at 10 aborted
//! => an action of the pass; `=> again`; `=> new inputs`
//! => ? 5: a line of build 5's preparation, blockers only
//! ```

use std::collections::HashMap;
use std::path::Path;

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId, Version};
use airside_schedule::graph::{Input, InputVersions, Job};
use airside_schedule::pass::{
    Action, BuildOrigin, Checked, Group, InputsFrom, JobSpacing, JobState, Next, Original, Pauses,
    Pending, pass,
};
use airside_schedule::preparation::{Blocking, Preparation, preparation};
use airside_schedule::resolve::Chosen;
use airside_schedule::{BuildKey, Carried, Moment, Names, Reason, Resolution};

struct Scene {
    names: Names,
    job: Job,
    pauses: Pauses,
    pending: Vec<Pending>,
    group: Group,
    spacing: JobSpacing,
    checked: HashMap<ResourceId, Checked>,
    inputs: Resolution,
}

fn number(text: &str) -> i64 {
    text.parse()
        .unwrap_or_else(|_| panic!("no number: {text:?}"))
}

impl Scene {
    fn new() -> Self {
        Self {
            names: Names::default(),
            job: Job {
                id: JobId(1),
                inputs: Vec::new(),
                serial_groups: Vec::new(),
                max_in_flight: None,
            },
            pauses: Pauses::default(),
            pending: Vec::new(),
            group: Group::default(),
            spacing: JobSpacing::Free,
            checked: HashMap::new(),
            inputs: Resolution::default(),
        }
    }

    fn resource(&mut self, name: &str) -> ResourceId {
        ResourceId(i64::from(self.names.intern(name).0))
    }

    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["job"] => {}
            ["job", "max", limit] => self.job.max_in_flight = limit.parse().ok(),
            ["pace", "one"] => self.spacing = JobSpacing::One,
            ["pace", "rest"] => self.spacing = JobSpacing::Rest,
            ["more"] => self.inputs.more = true,
            ["paused", "job"] => self.pauses.job = true,
            ["paused", "pipeline"] => self.pauses.pipeline = true,
            ["archived"] => self.pauses.archived = true,
            ["group", running, "running"] => self.group.running = running.parse().unwrap(),
            ["group", running, "running,", first, "first"] => {
                self.group.running = running.parse().unwrap();
                self.group.first_rival = Some(BuildKey::first_run(BuildId(number(first))));
            }
            ["checked", resource, "ended", end, "due", due] => {
                let resource = self.resource(resource);
                let next_due = (due != "never").then(|| Moment(number(due)));
                let last_end = Some(Moment(number(end)));
                self.checked
                    .insert(resource, Checked { last_end, next_due });
            }
            ["get", name, ref rest @ ..] => self.read_input(name, rest),
            ["pending", id, ref rest @ ..] => self.read_pending(BuildId(number(id)), rest),
            _ => panic!("what is {line:?}?"),
        }
    }

    fn read_input(&mut self, name: &str, words: &[&str]) {
        let resource = self.resource(name);
        let name = self.names.intern(name);
        let has = |word: &str| words.contains(&word);
        let pin = Version::from([("ref", "1")]);
        self.job.inputs.push(Input {
            name,
            resource,
            want: match (has("every"), has("pinned")) {
                (true, _) => InputVersions::Every,
                (_, true) => InputVersions::Pinned(pin),
                _ => InputVersions::Latest,
            },
            resource_is_pinned: has("pinned"),
            passed: if has("passed") {
                vec![JobId(2)]
            } else {
                Vec::new()
            },
            trigger: has("trigger"),
        });
        let outcome = match words.last() {
            Some(&"missing") => Err(Reason::LatestNotFound),
            Some(&"unsaid") => return,
            _ => Ok(Chosen {
                carried: Carried {
                    resource,
                    version: ResourceVersionId(2),
                },
                first_occurrence: has("new"),
                passed: Vec::new(),
            }),
        };
        self.inputs.inputs.push((name, outcome));
    }

    fn read_pending(&mut self, id: BuildId, words: &[&str]) {
        let mut build = Pending {
            key: BuildKey::first_run(id),
            origin: BuildOrigin::Manual,
            created: Moment(0),
            aborted: words.last() == Some(&"aborted"),
        };
        match words {
            ["manual", "at", at, ..] => build.created = Moment(number(at)),
            ["trigger", "at", at, ..] => {
                build.origin = BuildOrigin::Trigger;
                build.created = Moment(number(at));
            }
            ["rerun", "of", original, inputs @ ..] => {
                build.key = BuildKey::rerun(BuildId(number(original)), id);
                build.origin = BuildOrigin::Rerun(match inputs {
                    ["empty", ..] => Original::NoInputs,
                    ["without", name, ..] => Original::Gone(self.names.intern(name)),
                    _ => Original::Ready,
                });
            }
            _ => panic!("what is {words:?}?"),
        }
        self.pending.push(build);
    }

    fn state(&self) -> JobState<'_> {
        JobState {
            job: &self.job,
            pauses: self.pauses,
            pending: &self.pending,
            group: self.group,
            spacing: self.spacing,
            checked: &self.checked,
            inputs: &self.inputs,
        }
    }

    fn show(&self, action: &Action) -> String {
        let resources = |all: &[ResourceId]| -> String {
            let names = all.iter().map(|ResourceId(id)| {
                let id = airside_schedule::NameId(*id as u32);
                self.names.name(id).to_owned()
            });
            names.collect::<Vec<String>>().join(" ")
        };
        match action {
            Action::Create { because } => format!("create for {}", self.names.name(*because)),
            Action::Start { build, inputs } => match inputs {
                InputsFrom::Resolution => format!("start {}", build.build),
                InputsFrom::Original(original) => format!("start {} as {original}", build.build),
            },
            Action::Abort { build } => format!("abort {}", build.build),
            Action::Check {
                build,
                resources: all,
            } => format!("check {} for {}", resources(all), build.build),
            Action::Wait { build, reason } => format!("{} waits: {reason}", build.build),
        }
    }

    /// Returns the blockers of each pending build.
    fn show_preparations(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for build in &self.pending {
            let prepared = preparation(&self.state(), build, &self.names);
            let Preparation { build: id, .. } = prepared;
            for (what, blocking) in [
                ("paused_pipeline", prepared.paused_pipeline),
                ("paused_job", prepared.paused_job),
                ("max_running_builds", prepared.max_running_builds),
                ("inputs_satisfied", prepared.inputs_satisfied),
            ] {
                if blocking == Blocking::Yes {
                    lines.push(format!("? {id}: {what}"));
                }
            }
            for (name, reason) in &prepared.missing_input_reasons {
                assert!(prepared.inputs.contains(&(*name, Blocking::Yes)));
                lines.push(format!("? {id}: {}: {reason}", self.names.name(*name)));
            }
            assert_eq!(prepared.inputs.len(), self.job.inputs.len());
        }
        lines
    }
}

#[test]
fn every_pass_is_as_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let cases: Vec<&str> = text.split("== ").skip(1).collect();
    assert!(cases.len() >= 30, "only {} cases were found", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let (name, body) = case.split_once('\n').unwrap();
        let mut scene = Scene::new();
        let mut expected = Vec::new();
        for line in body.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix("=> ") {
                Some(line) => expected.push(line.to_owned()),
                None => scene.read(line),
            }
        }
        let result = pass(&scene.state());
        let mut got: Vec<String> = result
            .actions
            .iter()
            .map(|action| scene.show(action))
            .collect();
        got.extend(result.has_new_inputs.then(|| "new inputs".to_owned()));
        got.extend((result.next == Next::Again).then(|| "again".to_owned()));
        if expected.iter().any(|line| line.starts_with('?')) {
            got.extend(scene.show_preparations());
        }
        if got != expected {
            wrong.push(format!(
                "{name}\n  expected {expected:#?}\n  got      {got:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_blocks_a_build_that_started() {
    let started = Preparation::nothing_blocks(BuildId(3));
    assert_eq!(started.inputs_satisfied.as_str(), "not_blocking");
    assert_eq!(Blocking::from(true).as_str(), "blocking");
}
