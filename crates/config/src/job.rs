//! Jobs: a plan of steps and the rules by which its builds start and are kept.

use airside_yaml::Node;
use serde::{Deserialize, Serialize};

use crate::reader::{Fields, Reader};
use crate::resource::named_path;
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
    /// As written; see [`Job::max_in_flight`] for what counts. Zero is no limit.
    #[serde(default, rename = "max_in_flight", skip_serializing_if = "is_zero")]
    pub raw_max_in_flight: u32,
    /// Where leaf steps without tags of their own run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub build_logs_to_retain: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_log_retention: Option<BuildLogRetention>,
    pub plan: Vec<Step>,
}

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

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_none_kept(number: &i64) -> bool {
    *number == 0
}

impl Job {
    /// How many builds may run at once; `None` is no limit.
    pub fn max_in_flight(&self) -> Option<u32> {
        if self.serial || !self.serial_groups.is_empty() {
            return Some(1);
        }
        (self.raw_max_in_flight > 0).then_some(self.raw_max_in_flight)
    }

    /// Calls `visit` with every get, put and task of the plan, in order.
    pub fn visit_leaves<'a>(&'a self, visit: &mut impl FnMut(steps::Leaf<'a>)) {
        self.plan.iter().for_each(|step| step.visit_leaves(visit));
    }
}

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Job> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, "jobs", path);
    let mut fields = Fields::open(reader, node, &path)?;
    for hook in steps::HOOKS {
        fields.refuse(hook, &path);
    }
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
        plan: read_plan(&mut fields),
    };
    fields.close();
    Some(job)
}

fn read_retention(job: &mut Fields<'_, '_>) -> Option<BuildLogRetention> {
    let path = job.path_of("build_log_retention");
    let node = job.take("build_log_retention")?;
    let mut fields = Fields::open(job.reader, node, &path)?;
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
    let path = job.path_of("plan");
    let Some(node) = job.take("plan") else {
        return Vec::new();
    };
    steps::read_list(job.reader, node, &format!("{path}.do"))
}
