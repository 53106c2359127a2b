//! Handles the store's events: the view learns them, and the jobs they affect get a pass.

use airside_model::{BuildId, JobId, PipelineId, ResourceId};
use airside_schedule::{
    BuildKey, Carried, Change, Event, Moment, Order, history::VersionState, pass::Checked,
};
use airside_store::{CarryingBuild, News, VersionPlace};

use crate::{Result, driver::Driver};

/// Maximum number of versions that the view gets one by one. More are looked up when they are
/// needed.
const MANY: usize = 256;

impl Driver {
    pub(crate) async fn handle_news(&mut self, news: News) -> Result<()> {
        match news {
            News::VersionsSaved { resource, versions } => {
                if versions.len() > MANY {
                    self.view.apply(Change::ForgetResource(resource));
                } else {
                    for place in versions {
                        self.view.apply(saved(resource, place));
                    }
                }
                self.queue_jobs_of_resource(resource, Event::VersionsFound(resource))
                    .await
            }
            News::VersionEnabled {
                resource,
                version,
                enabled,
            } => {
                self.view.apply(Change::VersionEnabled {
                    resource,
                    version,
                    enabled,
                });
                self.queue_jobs_of_resource(resource, Event::VersionsChosen(resource))
                    .await
            }
            News::HistoryChanged(resource) => {
                self.view.apply(Change::ForgetResource(resource));
                self.checked.remove(&resource);
                self.queue_jobs_of_resource(resource, Event::VersionsChosen(resource))
                    .await
            }
            News::PinChanged(resource) => {
                if let Some(pipeline) = self.pipeline_of_resource(resource).await? {
                    self.graphs.remove(&pipeline);
                }
                self.queue_jobs_of_resource(resource, Event::VersionsChosen(resource))
                    .await
            }
            News::CheckEnded {
                resource,
                at,
                next_due,
            } => {
                let checked = Checked {
                    last_end: Some(Moment(at.0)),
                    next_due: next_due.map(|due| Moment(due.0)),
                };
                self.checked.insert(resource, checked);
                // No build waits for most checks, and there are many of them.
                if self.asked.values().any(|asked| asked.contains(&resource)) {
                    self.queue_jobs_of_resource(resource, Event::CheckEnded(resource))
                        .await?;
                }
                Ok(())
            }
            News::JobAsked(job) => self.queue_jobs_of_job(job, Event::JobAsked(job)).await,
            News::BuildsForgotten(job) => {
                self.view.apply(Change::ForgetJob(job));
                Ok(())
            }
            News::JobPaused(job) => self.queue_jobs_of_job(job, Event::JobPaused(job)).await,
            News::JobUnpaused(job) => self.queue_jobs_of_job(job, Event::JobUnpaused(job)).await,
            News::BuildFinished {
                build,
                job,
                succeeded,
            } => self.handle_build_finished(build, job, succeeded).await,
            News::PipelineSet(pipeline) => {
                self.graphs.remove(&pipeline);
                self.look_for_abandoned = true;
                self.look_at_all(pipeline);
                Ok(())
            }
            News::PipelineUnpaused(pipeline) => {
                self.look_at_all(pipeline);
                Ok(())
            }
            News::PipelinePaused(pipeline) => {
                // It may be that nothing of it has to be kept any more.
                self.due.entry(pipeline).or_default();
                Ok(())
            }
            News::PipelineArchived(pipeline) => {
                self.graphs.remove(&pipeline);
                self.look_for_abandoned = true;
                self.due.entry(pipeline).or_default();
                Ok(())
            }
            News::PipelineGone(pipeline) => {
                self.forget(pipeline);
                self.look_for_abandoned = true;
                Ok(())
            }
            // Nothing of these decides what is built next.
            News::BuildCreated { .. } | News::BuildStarted { .. } | News::PipelineChanged(_) => {
                Ok(())
            }
        }
    }

    async fn handle_build_finished(
        &mut self,
        build: BuildId,
        job: JobId,
        succeeded: bool,
    ) -> Result<()> {
        self.asked.remove(&build);
        if succeeded {
            self.look_for_abandoned = true;
            if let Some(carrying) = self.store.carried(build).await? {
                self.view.apply(carried(job, &carrying));
            }
        }
        self.queue_jobs_of_job(job, Event::BuildFinished { job, succeeded })
            .await
    }

    /// Makes the jobs of the pipeline due that the event affects.
    pub(crate) async fn queue_affected_jobs(
        &mut self,
        pipeline: PipelineId,
        event: Event,
    ) -> Result<()> {
        let Some(configured) = self.pipeline_graph(pipeline).await? else {
            return Ok(());
        };
        let jobs = configured.graph.affected_jobs(event);
        if !jobs.is_empty() {
            self.due.entry(pipeline).or_default().jobs.extend(jobs);
        }
        Ok(())
    }

    async fn queue_jobs_of_resource(&mut self, resource: ResourceId, event: Event) -> Result<()> {
        match self.pipeline_of_resource(resource).await? {
            Some(pipeline) => self.queue_affected_jobs(pipeline, event).await,
            None => Ok(()),
        }
    }

    async fn queue_jobs_of_job(&mut self, job: JobId, event: Event) -> Result<()> {
        let Some(pipeline) = self.pipeline_of_job(job).await? else {
            return Ok(());
        };
        // Also for a job that the configuration does not have any more: its builds may wait.
        self.due.entry(pipeline).or_default();
        self.queue_affected_jobs(pipeline, event).await
    }

    /// Makes all jobs of a pipeline due. They are listed at their turn, if the pipeline is not at
    /// rest.
    pub(crate) fn look_at_all(&mut self, pipeline: PipelineId) {
        self.due.entry(pipeline).or_default().all = true;
    }

    pub(crate) async fn pipeline_of_job(&mut self, job: JobId) -> Result<Option<PipelineId>> {
        if let Some(pipeline) = self.pipelines.jobs.get(&job) {
            return Ok(Some(*pipeline));
        }
        let row = self.store.job_by_id(job).await?;
        Ok(row.map(|row| row.pipeline))
    }

    async fn pipeline_of_resource(&mut self, resource: ResourceId) -> Result<Option<PipelineId>> {
        if let Some(pipeline) = self.pipelines.resources.get(&resource) {
            return Ok(Some(*pipeline));
        }
        let row = self.store.resource_by_id(resource).await?;
        Ok(row.map(|row| row.pipeline))
    }

    /// Forgets everything about a pipeline that is gone, or at rest.
    pub(crate) fn forget(&mut self, pipeline: PipelineId) {
        self.due.remove(&pipeline);
        self.graphs.remove(&pipeline);
        if !self.pipelines.known.remove(&pipeline) {
            return;
        }
        for (job, _) in self
            .pipelines
            .jobs
            .extract_if(|_, owner| *owner == pipeline)
        {
            self.view.apply(Change::ForgetJob(job));
            self.next.remove(&job);
        }
        let resources = &mut self.pipelines.resources;
        for (resource, _) in resources.extract_if(|_, owner| *owner == pipeline) {
            self.view.apply(Change::ForgetResource(resource));
            self.checked.remove(&resource);
        }
    }
}

fn saved(resource: ResourceId, place: VersionPlace) -> Change {
    Change::VersionSaved {
        resource,
        version: place.version,
        state: VersionState {
            order: Order(place.order),
            enabled: place.enabled,
        },
    }
}

fn carried(job: JobId, carrying: &CarryingBuild) -> Change {
    Change::BuildSucceeded {
        job,
        key: BuildKey {
            original: carrying.original,
            build: carrying.build,
        },
        carried: crate::answer::carried(carrying),
    }
}

/// Converts a resource and its version, as the store gives them.
pub(crate) fn to_carried(
    (resource, version): (ResourceId, airside_model::ResourceVersionId),
) -> Carried {
    Carried { resource, version }
}
