//! What is to be looked at in the store, and when: a map, so that it is bounded by the jobs there
//! are, and the newest state wins.

use std::{collections::BTreeMap, time::Duration};

use airside_model::JobId;
use airside_store::{Missed, News};
use tokio::time::Instant;

/// Time between a change and the look at it, in which further changes gather.
const SETTLE: Duration = Duration::from_millis(500);

/// Jobs that changed, and the list of pipelines and jobs as a whole.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    jobs: BTreeMap<JobId, Instant>,
    lists: Option<Instant>,
    /// True if every job is to be looked at with the lists.
    is_all: bool,
}

impl Marks {
    /// Marks all jobs and the lists, due at once.
    pub(crate) fn mark_all(&mut self, now: Instant) {
        self.lists = Some(now);
        self.is_all = true;
    }

    /// Marks a job. One that is marked already keeps its time, so that it is looked at even if it
    /// changes all the time.
    pub(crate) fn mark_job(&mut self, job: JobId, due: Instant) {
        let marked = self.jobs.entry(job).or_insert(due);
        *marked = due.min(*marked);
    }

    pub(crate) fn mark_lists(&mut self, due: Instant) {
        self.lists = Some(self.lists.map_or(due, |marked| marked.min(due)));
    }

    /// Marks what an event of the store changes.
    pub(crate) fn note(&mut self, heard: Result<News, Missed>, now: Instant) {
        let due = now + SETTLE;
        match heard {
            Ok(
                News::BuildCreated { job, .. }
                | News::BuildStarted { job, .. }
                | News::BuildFinished { job, .. }
                | News::BuildsForgotten(job)
                | News::JobPaused(job)
                | News::JobUnpaused(job),
            ) => self.mark_job(job, due),
            Ok(
                News::PipelineSet(_)
                | News::PipelinePaused(_)
                | News::PipelineUnpaused(_)
                | News::PipelineArchived(_)
                | News::PipelineGone(_)
                | News::PipelineChanged(_),
            ) => self.mark_lists(due),
            Ok(_) => {}
            Err(Missed) => self.mark_all(due),
        }
    }

    /// Takes the mark of the lists if it is due; true inside if every job is marked, too.
    pub(crate) fn take_lists(&mut self, now: Instant) -> Option<bool> {
        self.lists.filter(|due| *due <= now)?;
        self.lists = None;
        Some(std::mem::take(&mut self.is_all))
    }

    /// Takes the job that has been due for longest, if one is.
    pub(crate) fn take_job(&mut self, now: Instant) -> Option<JobId> {
        let due = self.jobs.iter().filter(|(_, due)| **due <= now);
        let job = *due.min_by_key(|(_, due)| **due)?.0;
        self.jobs.remove(&job);
        Some(job)
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.jobs.values().chain(&self.lists).min().copied()
    }

    /// Returns the time since which something is due, if something is.
    pub(crate) fn oldest_due(&self) -> Option<Instant> {
        self.next_due().filter(|due| *due <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use airside_model::{BuildId, PipelineId};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_job_that_changes_all_the_time_is_still_looked_at() {
        let (mut marks, job, start) = (Marks::default(), JobId(1), Instant::now());
        for _ in 0..10 {
            let build = BuildId(7);
            marks.note(Ok(News::BuildStarted { build, job }), Instant::now());
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(marks.next_due(), Some(start + SETTLE));
        assert_eq!(marks.take_job(start), None);
        assert_eq!(marks.take_job(Instant::now()), Some(job));
        assert_eq!(marks.next_due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn lost_events_mark_everything() {
        let (mut marks, now) = (Marks::default(), Instant::now());
        marks.note(Ok(News::PipelineSet(PipelineId(1))), now);
        assert_eq!(marks.take_lists(now), None);
        assert_eq!(marks.take_lists(now + SETTLE), Some(false));
        marks.note(Err(Missed), now);
        assert_eq!(marks.take_lists(now + SETTLE), Some(true));
        assert_eq!(marks.take_lists(now + SETTLE), None);
    }
}
