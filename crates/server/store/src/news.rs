//! Events for the parts of this process that act on them.
//!
//! An event is sent after its change is committed. A listener that is too slow learns that it
//! missed events and has to read the database; no writer ever waits for a listener.

mod shown;
#[cfg(test)]
mod tests;

use airside_model::{BuildId, JobId, PipelineId, ResourceId, ResourceVersionId};
use tokio::sync::broadcast;

pub use shown::{ShownChange, ShownChanges};

use crate::{Micros, Store, VersionPlace, now};

/// Number of events that a listener may be behind.
const BACKLOG: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A check or a put found versions that are new or stand elsewhere in the order now.
    VersionsSaved {
        resource: ResourceId,
        versions: Vec<VersionPlace>,
    },
    VersionEnabled {
        resource: ResourceId,
        version: ResourceVersionId,
        enabled: bool,
    },
    /// The resource has another history now, or part of it was taken away.
    HistoryChanged(ResourceId),
    /// The resource was pinned, or is no longer.
    PinChanged(ResourceId),
    /// A check ended, whatever it found. `next_due` is when its interval has passed, if it has one.
    CheckEnded {
        resource: ResourceId,
        at: Micros,
        next_due: Option<Micros>,
    },
    /// A build of the job was created, or one that waits was aborted, or the job must be scheduled
    /// again.
    JobAsked(JobId),
    /// A build of the job was created, by whatever means; it waits.
    BuildCreated {
        build: BuildId,
        job: JobId,
    },
    BuildStarted {
        build: BuildId,
        job: JobId,
    },
    BuildFinished {
        build: BuildId,
        job: JobId,
        succeeded: bool,
    },
    /// Old builds of the job were collected.
    BuildsForgotten(JobId),
    JobPaused(JobId),
    JobUnpaused(JobId),
    PipelineSet(PipelineId),
    PipelinePaused(PipelineId),
    PipelineUnpaused(PipelineId),
    /// The pipeline's configuration is empty, and builds that wait are aborted.
    PipelineArchived(PipelineId),
    PipelineGone(PipelineId),
    /// Something else that lists show of it changed: its name, who may see it, or the object that
    /// sets it.
    PipelineChanged(PipelineId),
}

/// Receives the changes from now on.
pub struct Newsstand(broadcast::Receiver<News>);

/// Some news were lost: the listener has to look for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed;

impl Newsstand {
    /// The next piece, as soon as there is one.
    pub async fn next(&mut self) -> Result<News, Missed> {
        next(&mut self.0).await
    }

    /// The next piece if it is there already.
    pub fn waiting(&mut self) -> Option<Result<News, Missed>> {
        waiting(&mut self.0)
    }
}

async fn next<T: Clone>(receiver: &mut broadcast::Receiver<T>) -> Result<T, Missed> {
    match receiver.recv().await {
        Ok(piece) => Ok(piece),
        Err(broadcast::error::RecvError::Lagged(_)) => Err(Missed),
        // The sender lives in the store; a listener that outlives it receives nothing any more.
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

fn waiting<T: Clone>(receiver: &mut broadcast::Receiver<T>) -> Option<Result<T, Missed>> {
    match receiver.try_recv() {
        Ok(piece) => Some(Ok(piece)),
        Err(broadcast::error::TryRecvError::Lagged(_)) => Some(Err(Missed)),
        Err(_) => None,
    }
}

pub(crate) fn channel<T: Clone>() -> broadcast::Sender<T> {
    broadcast::Sender::new(BACKLOG)
}

impl Store {
    pub fn news(&self) -> Newsstand {
        Newsstand(self.news.subscribe())
    }

    /// Says it to listeners, if there are any, and to those who only wait for any change.
    pub(crate) fn announce(&self, news: News) {
        if let Some(change) = ShownChange::from_news(&news) {
            self.show_quietly(change);
        }
        let _ = self.news.send(news);
        self.changed();
    }

    /// Says that a check of the resource ended now, whatever it found: builds may have waited for
    /// it.
    pub fn check_ended(&self, resource: ResourceId, next_due: Option<Micros>) {
        self.announce(News::CheckEnded {
            resource,
            at: now(),
            next_due,
        });
    }

    /// Asks for a look at a job, as `fly schedule-job` does.
    pub fn ask_for_job(&self, job: JobId) {
        self.announce(News::JobAsked(job));
    }
}
