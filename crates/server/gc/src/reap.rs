//! Logs of old builds, and later the builds themselves.

use airside_config::JobOutline;
use airside_model::{BuildId, JobId};
use airside_store::{LoggedOf, RetainedJob, now};

use crate::{
    Collector, Result,
    retention::{Retention, Sieve},
};

/// Number of builds that are looked at together.
const PAGE: i64 = 1000;
/// Number of builds that are reaped in one transaction.
const BATCH: usize = 100;
/// Builds go in no smaller numbers than this: the scheduler looks at their job anew each time.
const FEWEST: i64 = 100;

impl Collector {
    /// Reaps the logs of all jobs and of all builds without one; how many.
    pub(crate) async fn reap_all(&self) -> Result<u64> {
        let mut reaped = 0;
        for job in self.parts.store.retained_jobs().await? {
            reaped += self
                .reap(LoggedOf::Job(job.id), self.retention(&job))
                .await?;
        }
        let one_offs = self.parts.keep.logs.for_job(None);
        for team in self.parts.store.teams().await? {
            reaped += self.reap(LoggedOf::OneOffs(team.id), one_offs).await?;
        }
        Ok(reaped)
    }

    /// Reaps the builds of one job, of which a build has just ended.
    pub(crate) async fn reap_job(&self, job: JobId) -> Result<u64> {
        match self.parts.store.retained_job(job).await? {
            Some(job) => self.reap(LoggedOf::Job(job.id), self.retention(&job)).await,
            None => Ok(0),
        }
    }

    fn retention(&self, job: &RetainedJob) -> Retention {
        // Of pipelines that were set before this was kept with them, the defaults hold.
        let outline: JobOutline = serde_json::from_str(&job.outline).unwrap_or_default();
        self.parts
            .keep
            .logs
            .for_job(outline.build_log_retention.as_ref())
    }

    async fn reap(&self, of: LoggedOf, retention: Retention) -> Result<u64> {
        if !retention.is_limit() {
            return Ok(0);
        }
        let mut sieve = Sieve::new(retention, now());
        let mut oldest: Option<BuildId> = None;
        loop {
            let page = self.parts.store.logged_builds(of, oldest, PAGE).await?;
            page.iter().for_each(|build| sieve.take(build));
            match page.last() {
                Some(last) if page.len() as i64 == PAGE => oldest = Some(last.build),
                _ => break,
            }
        }
        let garbage = sieve.garbage();
        for builds in garbage.chunks(BATCH) {
            self.parts.store.reap_builds(builds).await?;
            for build in builds {
                self.parts.logs.remove(*build).await?;
            }
        }
        Ok(garbage.len() as u64)
    }

    /// Forgets builds that were reaped long ago; how many.
    pub(crate) async fn forget_builds(&self) -> Result<u64> {
        let Some(keep) = self.parts.keep.reaped_builds else {
            return Ok(0);
        };
        let store = &self.parts.store;
        let jobs = store.retained_jobs().await?.into_iter();
        let teams = store.teams().await?.into_iter();
        let all = jobs.map(|job| LoggedOf::Job(job.id));
        let all = all.chain(teams.map(|team| LoggedOf::OneOffs(team.id)));
        let mut forgotten = 0;
        for of in all {
            forgotten += self.forget_builds_of(of, i64::from(keep)).await?;
        }
        Ok(forgotten)
    }

    async fn forget_builds_of(&self, of: LoggedOf, keep: i64) -> Result<u64> {
        let store = &self.parts.store;
        if !store.has_reaped_beyond(of, keep + FEWEST).await? {
            return Ok(0);
        }
        let mut forgotten = 0;
        loop {
            let gone = store.forget_reaped(of, keep, BATCH as i64).await?;
            forgotten += gone;
            if gone < BATCH as u64 {
                return Ok(forgotten);
            }
        }
    }
}
