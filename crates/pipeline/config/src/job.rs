//! Jobs: a plan of steps and the rules by which its builds start and are kept.

use airside_yaml::Node;
use serde::{Deserialize, Serialize};

use crate::reader::{Fields, Reader};
use crate::resource::named_path;
use crate::shape::{Field, Kind, Shape};
use crate::steps::modifiers::{Hook, read_hook};
use crate::{Step, steps};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub old_name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_manual_trigger: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_reruns: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serial_groups: Vec<String>,
    /// Limit as written; see [`Job::max_in_flight`] for the one in effect. Zero means no limit.
    #[serde(default, rename = "max_in_flight", skip_serializing_if = "is_zero")]
    pub raw_max_in_flight: u32,
    /// Tags of the workers for leaf steps without tags of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub build_logs_to_retain: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_log_retention: Option<BuildLogRetention>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_success: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_abort: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Box<Step>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensure: Option<Box<Step>>,
    pub plan: Vec<Step>,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "job",
    doc: "A job: steps, and rules by which its builds start and are kept.",
    fields: &[
        Field::required("name", Kind::Text, "Name of the job."),
        Field::required("plan", Kind::Steps, "Steps of the job, in order."),
        Field::new(
            "old_name",
            Kind::Text,
            "Previous name of the job, so that it keeps its builds.",
        ),
        Field::new("serial", Kind::Flag, "Run one build at a time."),
        Field::new(
            "serial_groups",
            Kind::Texts,
            "Groups of jobs of which only one build runs at a time.",
        ),
        Field::new(
            "max_in_flight",
            Kind::Count,
            "Maximum number of builds that run at once.",
        ),
        Field::new(
            "public",
            Kind::Flag,
            "Show build logs to everyone who can see the pipeline.",
        ),
        Field::new(
            "disable_manual_trigger",
            Kind::Flag,
            "Refuse builds that are triggered by hand.",
        ),
        Field::new("disable_reruns", Kind::Flag, "Refuse reruns of builds."),
        Field::new(
            "interruptible",
            Kind::Flag,
            "Let workers shut down without waiting for its builds.",
        ),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers for steps without tags of their own.",
        ),
        Field::new(
            "build_log_retention",
            Kind::Inner(&RETENTION),
            "Retention of build logs.",
        ),
        Field::new(
            "build_logs_to_retain",
            Kind::Count,
            "Deprecated; use build_log_retention.",
        ),
        Field::new(
            "on_success",
            Kind::Step,
            "A step for when the plan succeeded.",
        ),
        Field::new("on_failure", Kind::Step, "A step for when the plan failed."),
        Field::new("on_error", Kind::Step, "A step for when the plan erred."),
        Field::new(
            "on_abort",
            Kind::Step,
            "A step for when the build was aborted.",
        ),
        Field::new(
            "ensure",
            Kind::Step,
            "A step for the end, whatever happened.",
        ),
    ],
};

pub(crate) static RETENTION: Shape = Shape {
    name: "build_log_retention",
    doc: "Retention of build logs. A log is removed once all rules allow it.",
    fields: &[
        Field::new(
            "builds",
            Kind::Count,
            "Number of latest builds whose logs are kept.",
        ),
        Field::new(
            "days",
            Kind::Count,
            "Number of days for which logs are kept.",
        ),
        Field::new(
            "minimum_succeeded_builds",
            Kind::Count,
            "Minimum number of succeeded builds among those that are kept.",
        ),
    ],
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildLogRetention {
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub builds: i64,
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub minimum_succeeded_builds: i64,
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub days: i64,
}

impl Job {
    /// Returns the retention of build logs, in whichever of the two ways it is written.
    pub fn retention(&self) -> Option<BuildLogRetention> {
        let builds = self.build_logs_to_retain;
        let old = || BuildLogRetention {
            builds,
            ..BuildLogRetention::default()
        };
        let written = self.build_log_retention.clone();
        written.or_else(|| (builds != 0).then(old))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_none_kept(number: &i64) -> bool {
    *number == 0
}

impl Job {
    /// Returns the number of builds that may run at once; `None` means no limit.
    pub fn max_in_flight(&self) -> Option<u32> {
        if self.serial || !self.serial_groups.is_empty() {
            return Some(1);
        }
        (self.raw_max_in_flight > 0).then_some(self.raw_max_in_flight)
    }

    /// Calls `visit` with every step that runs something, in order, those of the job's hooks last.
    pub fn visit_leaves<'a>(&'a self, visit: &mut impl FnMut(steps::Leaf<'a>)) {
        self.visit_tagged_leaves(&mut |leaf, _| visit(leaf));
    }

    /// Visits leaves as [`Job::visit_leaves`] does, each with the tags of a leaf that has none of
    /// its own.
    pub(crate) fn visit_tagged_leaves<'a>(
        &'a self,
        visit: &mut impl FnMut(steps::Leaf<'a>, &'a [String]),
    ) {
        let hooks = self.hooks().map(|(_, step)| step);
        for step in self.plan.iter().chain(hooks) {
            step.visit_tagged_leaves(&self.tags, visit);
        }
    }

    /// Returns the job's hooks, innermost first.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = (Hook, &Step)> {
        Hook::pair([
            &self.on_success,
            &self.on_failure,
            &self.on_abort,
            &self.on_error,
            &self.ensure,
        ])
    }
}

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Job> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, "jobs", path);
    let mut fields = Fields::open(reader, node, &path, &SHAPE)?;
    let job = Job {
        name: fields.string("name"),
        old_name: fields.string("old_name"),
        public: fields.flag("public"),
        disable_manual_trigger: fields.flag("disable_manual_trigger"),
        disable_reruns: fields.flag("disable_reruns"),
        serial: fields.flag("serial"),
        interruptible: fields.flag("interruptible"),
        serial_groups: fields.strings("serial_groups"),
        raw_max_in_flight: fields.count("max_in_flight"),
        tags: fields.strings("tags"),
        build_logs_to_retain: fields.integer("build_logs_to_retain"),
        build_log_retention: read_retention(&mut fields),
        on_success: read_job_hook(&mut fields, Hook::OnSuccess),
        on_failure: read_job_hook(&mut fields, Hook::OnFailure),
        on_abort: read_job_hook(&mut fields, Hook::OnAbort),
        on_error: read_job_hook(&mut fields, Hook::OnError),
        ensure: read_job_hook(&mut fields, Hook::Ensure),
        plan: read_plan(&mut fields),
    };
    fields.close();
    Some(job)
}

/// A job's hooks are named as those of its plan.
fn read_job_hook(job: &mut Fields<'_, '_>, hook: Hook) -> Option<Box<Step>> {
    read_hook(job, hook, |job| job.path_of("plan"))
}

fn read_retention(job: &mut Fields<'_, '_>) -> Option<BuildLogRetention> {
    let node = job.take("build_log_retention")?;
    let path = job.path_of("build_log_retention");
    let mut fields = Fields::open(job.reader, node, &path, &RETENTION)?;
    let retention = BuildLogRetention {
        builds: fields.integer("builds"),
        minimum_succeeded_builds: fields.integer("minimum_succeeded_builds"),
        days: fields.integer("days"),
    };
    fields.close();
    Some(retention)
}

/// A job's plan is one big `do`, and that is how paths name its steps.
fn read_plan(job: &mut Fields<'_, '_>) -> Vec<Step> {
    let Some(node) = job.take("plan") else {
        return Vec::new();
    };
    let path = job.path_of("plan");
    steps::read_list(job.reader, node, &format!("{path}.do"))
}
