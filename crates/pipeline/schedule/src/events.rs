//! Finds the jobs that an event affects.
//!
//! The driver of the scheduler makes a pass of each of these jobs. There is no ticking: every
//! reason for which [`crate::pass`] lets a build wait ends with one of these events.

use airside_model::{JobId, ResourceId};

use crate::Graph;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A check or a put saved a version that was not there.
    VersionsFound(ResourceId),
    /// A check ended, whatever it found: manual builds may have waited for it.
    CheckEnded(ResourceId),
    /// A version was enabled or disabled, or the resource pinned or unpinned.
    VersionsChosen(ResourceId),
    /// A build has ended, also if it was aborted before it began.
    BuildFinished {
        job: JobId,
        succeeded: bool,
    },
    /// Started by hand, rerun, aborted while it waited; or asked for by `schedule-job`.
    JobAsked(JobId),
    JobPaused(JobId),
    JobUnpaused(JobId),
    /// A pass found inputs that were missing before, or misses some that it had.
    InputsDetermined(JobId),
    PipelineSet,
    PipelineUnpaused,
    /// The safety net: now and then, everything.
    Sweep,
}

impl Graph {
    /// Sorted, each once.
    pub fn affected_jobs(&self, event: Event) -> Vec<JobId> {
        let mut jobs = match event {
            Event::VersionsFound(resource) | Event::CheckEnded(resource) => {
                self.direct_takers(resource).to_vec()
            }
            Event::VersionsChosen(resource) => self.takers(resource).to_vec(),
            // The build's slot is free: a job that shares it may be next.
            Event::BuildFinished { job, succeeded } => {
                let mut jobs = self.peers(job);
                if succeeded {
                    jobs.extend(self.downstream(job));
                }
                jobs
            }
            Event::JobAsked(job) | Event::JobUnpaused(job) => vec![job],
            // Builds of a job that is paused or has no inputs give way to those of its peers.
            Event::JobPaused(job) | Event::InputsDetermined(job) => {
                let mut jobs = self.peers(job);
                jobs.retain(|peer| *peer != job);
                jobs
            }
            Event::PipelineSet | Event::PipelineUnpaused | Event::Sweep => {
                self.jobs().map(|job| job.id).collect()
            }
        };
        jobs.retain(|job| self.job(*job).is_some());
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }
}
