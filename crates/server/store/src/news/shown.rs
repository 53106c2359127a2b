//! Changes that pages show: by kind and id, never with content. A page reads what it shows again.
//!
//! The parts that act on [`News`](super::News) are not woken by them.

use airside_model::{BuildId, JobId, PipelineId, ResourceId, TeamId};
use tokio::sync::broadcast;

use super::{Missed, News};
use crate::Store;

/// A thing that pages show has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShownChange {
    /// A build was created; one without a job has started at once.
    BuildCreated {
        build: BuildId,
        job: Option<JobId>,
    },
    BuildStarted {
        build: BuildId,
        job: Option<JobId>,
    },
    BuildEnded {
        build: BuildId,
        job: Option<JobId>,
    },
    /// The build got its inputs, is to be aborted, or has another comment.
    BuildChanged(BuildId),
    /// A step of the build was placed, began or ended.
    StepChanged(BuildId),
    /// Old builds of the job were collected.
    BuildsForgotten(JobId),
    /// A build that checks was created; of a type, if it names no resource.
    CheckBegan {
        build: BuildId,
        pipeline: PipelineId,
        resource: Option<ResourceId>,
    },
    /// A check ended that pages show as a build, because its status is another one.
    CheckShown {
        build: BuildId,
        pipeline: PipelineId,
        resource: Option<ResourceId>,
        ok: bool,
    },
    /// The time of a resource's last check was noted.
    CheckEnded {
        resource: ResourceId,
        ok: bool,
    },
    /// The job was paused or resumed.
    JobChanged(JobId),
    /// It was determined anew which inputs the job's next build would have.
    NextInputsChanged(JobId),
    /// The pipeline was paused, resumed, exposed, hidden, renamed or archived.
    PipelineChanged(PipelineId),
    /// The pipeline has another configuration, and so perhaps other jobs.
    PipelineSet(PipelineId),
    PipelineGone(PipelineId),
    /// The team has its pipelines in another order.
    PipelinesOrdered(TeamId),
    /// The resource is pinned to another version or none, or its pin has another comment.
    ResourceChanged(ResourceId),
    /// The resource has other versions, or one of them was enabled or disabled.
    VersionsChanged(ResourceId),
    /// The team was made, removed or renamed, or has other members.
    TeamChanged(TeamId),
    /// Workers came, left or changed their state.
    WorkersChanged,
    WallChanged,
}

impl ShownChange {
    /// Returns the part of an event that pages show. `None`: they show nothing of it.
    pub(super) fn from_news(news: &News) -> Option<Self> {
        Some(match *news {
            News::VersionsSaved { resource, .. }
            | News::VersionEnabled { resource, .. }
            | News::HistoryChanged(resource) => Self::VersionsChanged(resource),
            News::PinChanged(resource) => Self::ResourceChanged(resource),
            News::BuildCreated { build, job } => {
                let job = Some(job);
                Self::BuildCreated { build, job }
            }
            News::BuildStarted { build, job } => {
                let job = Some(job);
                Self::BuildStarted { build, job }
            }
            News::BuildFinished { build, job, .. } => {
                let job = Some(job);
                Self::BuildEnded { build, job }
            }
            News::BuildsForgotten(job) => Self::BuildsForgotten(job),
            News::JobPaused(job) | News::JobUnpaused(job) => Self::JobChanged(job),
            News::PipelineSet(pipeline) => Self::PipelineSet(pipeline),
            News::PipelinePaused(pipeline)
            | News::PipelineUnpaused(pipeline)
            | News::PipelineArchived(pipeline)
            | News::PipelineChanged(pipeline) => Self::PipelineChanged(pipeline),
            News::PipelineGone(pipeline) => Self::PipelineGone(pipeline),
            // Its time is shown when it is written.
            News::CheckEnded { .. } | News::JobAsked(_) => return None,
        })
    }
}

/// Receives the changes that pages show from now on.
pub struct ShownChanges(broadcast::Receiver<ShownChange>);

impl ShownChanges {
    /// The next change, as soon as there is one.
    pub async fn next(&mut self) -> Result<ShownChange, Missed> {
        super::next(&mut self.0).await
    }

    /// The next change if it is there already.
    pub fn waiting(&mut self) -> Option<Result<ShownChange, Missed>> {
        super::waiting(&mut self.0)
    }
}

impl Store {
    /// Returns a receiver of the changes that pages show.
    pub fn shown_changes(&self) -> ShownChanges {
        ShownChanges(self.shown.subscribe())
    }

    /// Says to pages that a step of the build got further, once its log shows that.
    pub fn step_changed(&self, build: BuildId) {
        self.show_quietly(ShownChange::StepChanged(build));
    }

    /// Says to pages that something changed, and to those who only wait for any change.
    pub(crate) fn show(&self, change: ShownChange) {
        self.show_quietly(change);
        self.changed();
    }

    /// Says to pages of this process that something changed.
    pub(crate) fn show_quietly(&self, change: ShownChange) {
        let _ = self.shown.send(change);
    }
}
