//! The topics that changes of the store concern, gathered until they are looked at: pure.

use std::collections::{BTreeMap, BTreeSet};

use airside_model::{BuildId, JobId, PipelineId, ResourceId};
use airside_store::ShownChange;

use crate::{LiveTopic, part::LivePart};

/// All that changed since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Changes were missed: everything has to be read again.
    pub(crate) everything: bool,
    /// A topic that came could not be read.
    pub(crate) is_retried: bool,
    /// The dashboard's pipelines may stand elsewhere, or have other names.
    pub(crate) order: bool,
    /// Pipelines whose state is another one.
    pub(crate) pipelines: BTreeSet<PipelineId>,
    /// Jobs whose pipelines' state is another one.
    pub(crate) jobs: BTreeSet<JobId>,
    /// Resources that pages of their pipelines show.
    pub(crate) resources: BTreeSet<ResourceId>,
    /// Builds whose status is another one.
    pub(crate) builds: BTreeSet<BuildId>,
    /// Builds whose rows in lists are others.
    pub(crate) rows: BTreeSet<BuildId>,
    pub(crate) parts: BTreeMap<LiveTopic, BTreeSet<LivePart>>,
    /// Parts of all pages of jobs, builds and resources of a pipeline.
    pub(crate) under: BTreeMap<PipelineId, LivePart>,
    pub(crate) judging: Judging,
}

/// The readers whose rights are to be judged again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judging {
    pub(crate) all: bool,
    pub(crate) pipelines: BTreeSet<PipelineId>,
    pub(crate) jobs: BTreeSet<JobId>,
}

impl Judging {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Marks {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Marks that changes were missed.
    pub(crate) fn miss(&mut self) {
        *self = Self {
            everything: true,
            ..Self::default()
        };
        self.judging.all = true;
    }

    pub(crate) fn part(&mut self, topic: LiveTopic, part: LivePart) {
        self.parts.entry(topic).or_default().insert(part);
    }

    /// Marks what a change concerns.
    pub(crate) fn note(&mut self, change: ShownChange) {
        match change {
            ShownChange::BuildCreated { build, job } => {
                self.rows.insert(build);
                self.status_of_job(job, LivePart::Builds);
            }
            ShownChange::BuildStarted { build, job } => {
                self.status_of_build(build);
                self.part(LiveTopic::Build(build), LivePart::Steps);
                self.status_of_job(job, LivePart::Build(build));
            }
            ShownChange::BuildEnded { build, job } => {
                self.status_of_build(build);
                self.status_of_job(job, LivePart::Build(build));
            }
            ShownChange::BuildChanged(build) => {
                self.rows.insert(build);
                self.part(LiveTopic::Build(build), LivePart::Top);
            }
            ShownChange::StepChanged(build) => {
                self.part(LiveTopic::Build(build), LivePart::Steps);
            }
            ShownChange::BuildsForgotten(job) => {
                self.judging.jobs.insert(job);
                self.part(LiveTopic::Job(job), LivePart::Builds);
            }
            ShownChange::CheckBegan {
                build,
                pipeline,
                resource,
            } => {
                self.rows.insert(build);
                self.check(pipeline, resource);
            }
            ShownChange::CheckShown {
                build,
                pipeline,
                resource,
                ..
            } => {
                self.status_of_build(build);
                self.pipelines.insert(pipeline);
                self.check(pipeline, resource);
            }
            ShownChange::CheckEnded { resource, .. } => {
                self.part(LiveTopic::Resource(resource), LivePart::Check);
            }
            ShownChange::JobChanged(job) => self.status_of_job(Some(job), LivePart::Top),
            ShownChange::NextInputsChanged(job) => {
                self.part(LiveTopic::Job(job), LivePart::Inputs);
            }
            ShownChange::PipelineChanged(pipeline) => {
                self.pipeline(pipeline, LivePart::Top, LivePart::Top);
            }
            ShownChange::PipelineSet(pipeline) => {
                self.pipeline(pipeline, LivePart::Graph, LivePart::All);
            }
            ShownChange::PipelineGone(pipeline) => {
                self.pipelines.insert(pipeline);
                self.judging.pipelines.insert(pipeline);
            }
            ShownChange::PipelinesOrdered(_) => self.order = true,
            ShownChange::ResourceChanged(resource) => {
                self.resources.insert(resource);
                self.part(LiveTopic::Resource(resource), LivePart::Pin);
            }
            ShownChange::VersionsChanged(resource) => {
                self.part(LiveTopic::Resource(resource), LivePart::Versions);
            }
            ShownChange::TeamChanged(_) => {
                self.order = true;
                self.judging.all = true;
            }
            ShownChange::WorkersChanged => self.part(LiveTopic::Workers, LivePart::Workers),
            ShownChange::WallChanged => self.part(LiveTopic::Dashboard, LivePart::Wall),
        }
    }

    fn status_of_build(&mut self, build: BuildId) {
        self.builds.insert(build);
        self.rows.insert(build);
        self.part(LiveTopic::Build(build), LivePart::Top);
    }

    fn status_of_job(&mut self, job: Option<JobId>, part: LivePart) {
        if let Some(job) = job {
            self.jobs.insert(job);
            self.part(LiveTopic::Job(job), part);
        }
    }

    fn check(&mut self, pipeline: PipelineId, resource: Option<ResourceId>) {
        if let Some(resource) = resource {
            self.part(LiveTopic::Resource(resource), LivePart::Check);
            self.part(LiveTopic::Pipeline(pipeline), LivePart::Resource(resource));
        }
    }

    fn pipeline(&mut self, pipeline: PipelineId, own: LivePart, under: LivePart) {
        self.pipelines.insert(pipeline);
        self.judging.pipelines.insert(pipeline);
        self.part(LiveTopic::Pipeline(pipeline), own);
        // Everything includes the top.
        let marked = self.under.entry(pipeline).or_insert(under);
        *marked = under.min(*marked);
    }

    /// Marks a resource on the page of its pipeline.
    pub(crate) fn resource_of(&mut self, pipeline: PipelineId, resource: ResourceId) {
        self.part(LiveTopic::Pipeline(pipeline), LivePart::Resource(resource));
    }
}

#[cfg(test)]
mod tests {
    use airside_model::TeamId;

    use super::*;

    /// The topics and parts that a change concerns, as text, and the other marks.
    fn noted(change: ShownChange) -> (String, Marks) {
        let mut marks = Marks::default();
        marks.note(change);
        let parts = std::mem::take(&mut marks.parts);
        let parts = parts.into_iter().flat_map(|(topic, parts)| {
            let parts = parts.into_iter();
            parts.map(move |part| format!("{topic} {part}"))
        });
        (parts.collect::<Vec<_>>().join(", "), marks)
    }

    #[test]
    fn each_change_concerns_the_pages_that_show_it() {
        let (build, job, pipeline) = (BuildId(1), Some(JobId(2)), PipelineId(3));
        let resource = Some(ResourceId(4));
        for (change, expected) in [
            (ShownChange::BuildCreated { build, job }, "job:2 builds"),
            (ShownChange::BuildCreated { build, job: None }, ""),
            (
                ShownChange::BuildStarted { build, job },
                "job:2 build:1, build:1 top, build:1 steps",
            ),
            (
                ShownChange::BuildEnded { build, job },
                "job:2 build:1, build:1 top",
            ),
            (ShownChange::BuildChanged(build), "build:1 top"),
            (ShownChange::StepChanged(build), "build:1 steps"),
            (ShownChange::BuildsForgotten(JobId(2)), "job:2 builds"),
            (
                ShownChange::CheckBegan {
                    build,
                    pipeline,
                    resource,
                },
                "pipeline:3 resource:4, resource:4 check",
            ),
            (
                ShownChange::CheckEnded {
                    resource: ResourceId(4),
                    ok: true,
                },
                "resource:4 check",
            ),
            (ShownChange::JobChanged(JobId(2)), "job:2 top"),
            (ShownChange::NextInputsChanged(JobId(2)), "job:2 inputs"),
            (ShownChange::PipelineChanged(pipeline), "pipeline:3 top"),
            (ShownChange::PipelineSet(pipeline), "pipeline:3 graph"),
            (ShownChange::PipelineGone(pipeline), ""),
            (ShownChange::PipelinesOrdered(TeamId(5)), ""),
            (
                ShownChange::ResourceChanged(ResourceId(4)),
                "resource:4 pin",
            ),
            (
                ShownChange::VersionsChanged(ResourceId(4)),
                "resource:4 versions",
            ),
            (ShownChange::TeamChanged(TeamId(5)), ""),
            (ShownChange::WorkersChanged, "workers workers"),
            (ShownChange::WallChanged, "dashboard wall"),
        ] {
            assert_eq!(noted(change).0, expected, "{change:?}");
        }
    }

    #[test]
    fn rights_are_judged_again_where_they_may_have_changed() {
        let pipeline = PipelineId(3);
        for change in [
            ShownChange::PipelineChanged(pipeline),
            ShownChange::PipelineSet(pipeline),
            ShownChange::PipelineGone(pipeline),
        ] {
            let judging = noted(change).1.judging;
            assert_eq!(judging.pipelines, [pipeline].into(), "{change:?}");
        }
        assert!(noted(ShownChange::TeamChanged(TeamId(1))).1.judging.all);
        let job = JobId(2);
        let forgotten = noted(ShownChange::BuildsForgotten(job)).1;
        assert_eq!(forgotten.judging.jobs, [job].into());
        let build = BuildId(1);
        let ended = ShownChange::BuildEnded {
            build,
            job: Some(job),
        };
        assert!(noted(ended).1.judging.is_empty());
    }

    #[test]
    fn of_two_changes_the_greater_counts() {
        let mut marks = Marks::default();
        assert!(marks.is_empty());
        marks.note(ShownChange::PipelineSet(PipelineId(3)));
        marks.note(ShownChange::PipelineChanged(PipelineId(3)));
        assert_eq!(marks.under[&PipelineId(3)], LivePart::All);
        let parts: Vec<_> = marks.parts[&LiveTopic::Pipeline(PipelineId(3))]
            .iter()
            .collect();
        assert_eq!(parts, [&LivePart::Top, &LivePart::Graph]);
        marks.miss();
        assert!(marks.everything && marks.judging.all && marks.parts.is_empty());
    }
}
