//! Spacing: the administrator's minimum time between the starts of one job's builds. Kept in memory
//! only, by a clock that never jumps: after a start of the server every job may begin at once.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use airside_model::{JobId, PipelineId};
use airside_schedule::pass::JobSpacing;
use tokio::time::Instant;

/// Minimum time between the starts of one job's builds, by team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spacing {
    /// Spacing of teams that are not named.
    pub everybody: Duration,
    pub teams: HashMap<String, Duration>,
}

impl Spacing {
    fn of(&self, team: &str) -> Duration {
        self.teams.get(team).copied().unwrap_or(self.everybody)
    }
}

/// Jobs that rest after a start, and the builds that wait for the end of a rest.
#[derive(Default)]
pub(crate) struct SpacedJobs {
    spacing: Spacing,
    /// Moment until which a job rests.
    rests: HashMap<JobId, Instant>,
    wakes: BTreeSet<(Instant, PipelineId, JobId)>,
}

impl SpacedJobs {
    pub(crate) fn new(spacing: Spacing) -> Self {
        Self {
            spacing,
            ..Self::default()
        }
    }

    pub(crate) fn spacing_of_job(&self, team: &str, job: JobId, now: Instant) -> JobSpacing {
        if self.spacing.of(team).is_zero() {
            return JobSpacing::Free;
        }
        match self.rests.get(&job) {
            Some(until) if *until > now => JobSpacing::Rest,
            _ => JobSpacing::One,
        }
    }

    /// Notes that a build of the job starts now.
    pub(crate) fn started(&mut self, team: &str, job: JobId, now: Instant) {
        let spacing = self.spacing.of(team);
        if !spacing.is_zero() {
            self.rests.retain(|_, until| *until > now);
            self.rests
                .insert(job, airside_model::deadline_after(now, spacing));
        }
    }

    /// Notes that a build of the job waits for the end of its rest.
    pub(crate) fn wake(&mut self, pipeline: PipelineId, job: JobId) {
        if let Some(until) = self.rests.get(&job) {
            self.wakes.insert((*until, pipeline, job));
        }
    }

    /// Takes out a job whose rest is over.
    pub(crate) fn rested(&mut self, now: Instant) -> Option<(PipelineId, JobId)> {
        let first = *self.wakes.first().filter(|(at, ..)| *at <= now)?;
        self.wakes.remove(&first);
        let (_, pipeline, job) = first;
        Some((pipeline, job))
    }

    /// Returns when the next rest that a build waits for is over.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.wakes.first().map(|(at, ..)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_has_its_own_spacing_or_everybodys() {
        let spacing = Spacing {
            everybody: Duration::ZERO,
            teams: [("slow".to_owned(), Duration::from_secs(2))].into(),
        };
        let mut spaced_jobs = SpacedJobs::new(spacing);
        let (job, now) = (JobId(1), Instant::now());
        assert_eq!(
            spaced_jobs.spacing_of_job("main", job, now),
            JobSpacing::Free
        );
        assert_eq!(
            spaced_jobs.spacing_of_job("slow", job, now),
            JobSpacing::One
        );
        spaced_jobs.started("slow", job, now);
        let later = now + Duration::from_secs(1);
        assert_eq!(
            spaced_jobs.spacing_of_job("slow", job, later),
            JobSpacing::Rest
        );
        assert_eq!(
            spaced_jobs.spacing_of_job("slow", JobId(2), later),
            JobSpacing::One
        );
        spaced_jobs.wake(PipelineId(7), job);
        assert_eq!(spaced_jobs.rested(later), None);
        let end = spaced_jobs.next().unwrap();
        assert_eq!(end, now + Duration::from_secs(2));
        assert_eq!(spaced_jobs.rested(end), Some((PipelineId(7), job)));
        assert_eq!(
            spaced_jobs.spacing_of_job("slow", job, end),
            JobSpacing::One
        );
        assert_eq!(spaced_jobs.next(), None);
    }
}
