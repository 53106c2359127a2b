//! The parts of jobs and resources that lists show. They are stored beside the configuration when a
//! pipeline is set, so that a page of jobs does not read thousands of configurations.
//!
//! Every user who may see the job gets them, so they have nothing of sources or params.

use airside_model::{SaveJob, SaveResource, Version};
use serde::{Deserialize, Serialize};

use crate::{BuildLogRetention, Config, Glob, Job, Resource, VersionSpec, inputs, outputs};

/// A job in short, in the words of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobOutline {
    /// Groups that name the job, by itself or by a pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputOutline>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputOutline>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_manual_trigger: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_reruns: bool,
    /// True if a worker may leave while the job runs; not shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
    /// Retention of build logs; not shown, but read as often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_log_retention: Option<BuildLogRetention>,
}

impl JobOutline {
    /// Returns why a build of the job may not be asked for by hand, if the job says so.
    pub fn trigger_refusal(&self, job: &str) -> Option<String> {
        self.disable_manual_trigger
            .then(|| format!("job `{job}` may not be triggered by hand: it says so itself"))
    }

    /// Returns why a build of the job may not be repeated: the job says so, or the build never had
    /// its inputs.
    pub fn rerun_refusal(&self, job: &str, has_inputs: bool) -> Option<String> {
        if self.disable_reruns {
            let words = "may not be run again: it says so itself";
            return Some(format!("builds of job `{job}` {words}"));
        }
        let words = "the build never had its inputs, so there is nothing to repeat";
        (!has_inputs).then(|| words.to_owned())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputOutline {
    pub name: String,
    pub resource: String,
    pub trigger: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    #[serde(default, skip_serializing_if = "is_latest")]
    pub version: VersionSpec,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputOutline {
    pub name: String,
    pub resource: String,
}

/// A resource in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceOutline {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// The version that the configuration pins it to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
}

fn is_latest(version: &VersionSpec) -> bool {
    *version == VersionSpec::Latest
}

impl Config {
    /// One for each job, in their order.
    pub fn job_outlines(&self) -> Vec<JobOutline> {
        let groups: Vec<(&str, Vec<Glob>)> = self
            .groups
            .iter()
            .map(|group| {
                let patterns = group.jobs.iter().filter_map(|name| Glob::new(name));
                (group.name.as_str(), patterns.collect())
            })
            .collect();
        let outline = |job: &Job| {
            let named = groups
                .iter()
                .filter(|(_, patterns)| patterns.iter().any(|glob| glob.matches(&job.name)));
            JobOutline {
                groups: named.map(|(name, _)| (*name).to_owned()).collect(),
                ..JobOutline::of(job)
            }
        };
        self.jobs.iter().map(outline).collect()
    }

    /// Returns the pipeline's jobs as the store keeps them, in their order.
    pub fn job_rows(&self) -> Vec<SaveJob> {
        let jobs = self.jobs.iter().zip(self.job_outlines());
        jobs.map(|(job, outline)| SaveJob::new(&job.name, &outline).formerly(&job.old_name))
            .collect()
    }

    /// Returns the pipeline's resources as the store keeps them, in their order.
    pub fn resource_rows(&self) -> Vec<SaveResource> {
        let row = |resource: &Resource| {
            let outline = ResourceOutline::from(resource);
            SaveResource::new(&resource.name, &resource.type_, &outline)
                .formerly(&resource.old_name)
                .pinned(resource.version.clone())
        };
        self.resources.iter().map(row).collect()
    }
}

impl JobOutline {
    /// All but the groups, which the job itself does not know.
    fn of(job: &Job) -> Self {
        let inputs = inputs(job).into_iter().map(|input| InputOutline {
            name: input.name,
            resource: input.resource,
            trigger: input.trigger,
            passed: input.passed,
            version: input.version,
        });
        let outputs = outputs(job).into_iter().map(|output| OutputOutline {
            name: output.name,
            resource: output.resource,
        });
        Self {
            groups: Vec::new(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            public: job.public,
            disable_manual_trigger: job.disable_manual_trigger,
            disable_reruns: job.disable_reruns,
            interruptible: job.interruptible,
            build_log_retention: job.retention(),
        }
    }
}

impl From<&Resource> for ResourceOutline {
    fn from(resource: &Resource) -> Self {
        Self {
            icon: resource.icon.clone(),
            version: resource.version.clone(),
            public: resource.public,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    #[test]
    fn an_outline_says_what_lists_show_and_no_more() {
        let text = "
groups:
- {name: all, jobs: ['*']}
- {name: one, jobs: [build]}
resources:
- {name: r, type: mock, icon: git, version: {version: v1}, source: {password: hunter2}}
jobs:
- name: build
  public: true
  plan:
  - get: a
    resource: r
    trigger: true
    version: {version: v2}
  - put: r
    params: {token: hunter2}
- name: ship
  disable_manual_trigger: true
  interruptible: true
  plan:
  - {get: r, passed: [build]}
";
        let config = load(text).unwrap().config;
        let shown = serde_json::to_string(&config.job_outlines()).unwrap();
        assert_eq!(
            shown,
            r#"[{"groups":["all","one"],"inputs":[{"name":"a","resource":"r","trigger":true,"version":{"version":"v2"}}],"outputs":[{"name":"r","resource":"r"}],"public":true},{"groups":["all"],"inputs":[{"name":"r","resource":"r","trigger":false,"passed":["build"]}],"disable_manual_trigger":true,"interruptible":true}]"#
        );
        let read: Vec<JobOutline> = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, config.job_outlines());
        assert_eq!(read[0].trigger_refusal("build"), None);
        let refused = "job `ship` may not be triggered by hand: it says so itself";
        assert_eq!(read[1].trigger_refusal("ship").as_deref(), Some(refused));
        let resource = serde_json::to_string(&ResourceOutline::from(&config.resources[0]));
        assert_eq!(
            resource.unwrap(),
            r#"{"icon":"git","version":{"version":"v1"}}"#
        );
        assert_eq!(
            serde_json::from_str::<JobOutline>("{}").unwrap(),
            JobOutline::default()
        );
    }

    #[test]
    fn a_build_is_repeated_if_the_job_lets_it_and_it_had_inputs() {
        let lets = JobOutline::default();
        assert_eq!(lets.rerun_refusal("a", true), None);
        let never = "the build never had its inputs, so there is nothing to repeat";
        assert_eq!(lets.rerun_refusal("a", false).as_deref(), Some(never));
        let forbids = JobOutline {
            disable_reruns: true,
            ..JobOutline::default()
        };
        let words = "builds of job `a` may not be run again: it says so itself";
        assert_eq!(forbids.rerun_refusal("a", true).as_deref(), Some(words));
    }
}
