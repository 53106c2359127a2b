//! Pulls of images for steps: lines in the build's log, and numbers for views.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airside_model::{
    BuildId, PlanId, Version,
    event::{Event, FinishResource, Origin, Source},
};
use airside_pulls::{PullProgress, PullReport, shown_name};
use airside_runtime::{Cause, Error as RuntimeError, Image, Observed};
use airside_store::now;
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior};

use crate::{
    Orchestrator, Result, StepEnd, StepResult,
    placing::{StepContext, StepPlacement},
};

/// Number of tries to place a step whose pulls are in the log. A worker that fails again and
/// again must not fill the log.
const REPORTED_TRIES: u64 = 8;
/// Time between two looks at a pull that reports nothing.
const PULL_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The get of a step's image, which the placement of the step does: its events are those of a get.
#[derive(Clone, Debug)]
pub struct ImageGet {
    pub plan: PlanId,
    pub version: Version,
}

impl ImageGet {
    /// Returns the get's last event.
    pub fn finish(&self, succeeded: bool) -> Event {
        Event::FinishGet(FinishResource {
            origin: Origin::step(&self.plan),
            time: now().seconds(),
            exit_status: i32::from(!succeeded),
            version: self.version.clone(),
            metadata: Vec::new(),
        })
    }

    /// Returns the key under which the last event is written once.
    pub fn finish_key(&self) -> String {
        format!("{}/finish", self.plan)
    }
}

/// A pull that is under way.
#[derive(Clone, Copy, Debug)]
pub struct PullStatus {
    pub progress: PullProgress,
    pub since: Instant,
}

/// The pulls under way, by build and by the step or image get whose pull it is.
#[derive(Clone, Default)]
pub(crate) struct Pulls(Arc<Mutex<HashMap<(BuildId, PlanId), PullStatus>>>);

impl Pulls {
    pub(crate) fn get(&self, build: BuildId, plan: &PlanId) -> Option<PullStatus> {
        self.0.lock().get(&(build, plan.clone())).copied()
    }
}

/// One pull, for as long as its step is being placed.
struct StepPull<'a> {
    context: &'a StepContext<'a>,
    pulls: &'a Pulls,
    key: (BuildId, PlanId),
    report: Option<PullReport>,
    status: Option<PullStatus>,
}

impl Drop for StepPull<'_> {
    fn drop(&mut self) {
        self.pulls.0.lock().remove(&self.key);
    }
}

impl<'a> StepPull<'a> {
    fn new(context: &'a StepContext<'a>, pulls: &'a Pulls, image: &Image, number: u64) -> Self {
        let request = context.request;
        let plan = match &request.image_get {
            Some(get) => &get.plan,
            None => &request.plan,
        };
        Self {
            context,
            pulls,
            key: (context.lease.build, plan.clone()),
            report: image_name(image)
                .filter(|_| number <= REPORTED_TRIES)
                .map(PullReport::new),
            status: None,
        }
    }

    /// Takes in what the runtime sees.
    async fn take(&mut self, observed: Option<Observed>) -> Result<()> {
        let Some(Observed::Pending {
            cause: Cause::Pulling { progress },
            ..
        }) = observed
        else {
            return Ok(());
        };
        let progress = progress.bounded();
        let since = self.status.map_or_else(Instant::now, |status| status.since);
        let status = PullStatus { progress, since };
        self.status = Some(status);
        self.pulls.0.lock().insert(self.key.clone(), status);
        self.look().await
    }

    /// Logs a line if one is due.
    async fn look(&mut self) -> Result<()> {
        let (Some(status), Some(report)) = (self.status, &mut self.report) else {
            return Ok(());
        };
        match report.take(status.since.elapsed(), status.progress) {
            Some(line) => self.log(&line).await,
            None => Ok(()),
        }
    }

    /// Logs the end of a pull, if there was one.
    async fn end(mut self) -> Result<()> {
        let (Some(status), Some(report)) = (self.status, self.report.take()) else {
            return Ok(());
        };
        // A line about the end is no longer about what is under way.
        self.pulls.0.lock().remove(&self.key);
        match report.end(status.since.elapsed()) {
            Some(line) => self.log(&line).await,
            None => Ok(()),
        }
    }

    async fn log(&self, line: &str) -> Result<()> {
        let time = now();
        let event = Event::Log {
            time: time.seconds(),
            origin: Origin {
                id: self.key.1.clone(),
                source: Some(Source::Stderr),
            },
            payload: format!("{}\n", self.context.secrets.redact(line)),
        };
        // Each line is its own: time tells them apart.
        let key = format!("{}/pull", self.key.1);
        Ok(self.context.log.append(&key, time.0 as u64, event).await?)
    }
}

/// Returns the name of an image that is pulled where the step runs. A layout on this machine is
/// only unpacked, and its path is the administrator's.
fn image_name(image: &Image) -> Option<String> {
    match image {
        Image::Registry {
            reference, source, ..
        } => {
            let tag = source.0.get("tag").and_then(|tag| tag.as_str());
            Some(shown_name(reference, tag))
        }
        Image::Shim | Image::Host | Image::OciLayout { .. } | Image::Volume { .. } => None,
    }
}

impl Orchestrator {
    /// Returns the pull that is under way for a step or an image get of a build.
    pub fn pull(&self, build: BuildId, plan: &PlanId) -> Option<PullStatus> {
        self.parts.pulls.get(build, plan)
    }

    /// Asks the runtime for the container, and reports the pull of its image meanwhile. This is
    /// the try of this number.
    pub(crate) async fn ask_runtime(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
        number: u64,
    ) -> Result<PlaceAnswer> {
        let spec = &placement.record.spec;
        let mut pull = StepPull::new(context, &self.parts.pulls, &spec.image, number);
        let mut seen = self.parts.workers.watch(&placement.handle);
        let placing = placement.worker.runtime.place(spec);
        tokio::pin!(placing);
        let mut looks = tokio::time::interval(PULL_POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                placed = &mut placing => {
                    if placed.is_ok() {
                        pull.end().await?;
                    }
                    return Ok(placed.into());
                }
                Ok(()) = seen.changed() => {
                    let observed = seen.borrow_and_update().clone();
                    pull.take(observed).await?;
                }
                _ = looks.tick() => pull.look().await?,
            }
        }
    }
}

/// The runtime's answer to the request to place a container.
pub(crate) enum PlaceAnswer {
    /// The container is there, or will be; its runtime may know it by this id.
    Placed { uid: Option<String> },
    /// No later request will succeed.
    Refused(RuntimeError),
    /// A later request may succeed.
    Postponed { error: RuntimeError, cause: Cause },
}

impl From<Result<Option<String>, RuntimeError>> for PlaceAnswer {
    fn from(placed: Result<Option<String>, RuntimeError>) -> Self {
        match placed {
            Ok(uid) => Self::Placed { uid },
            Err(error @ RuntimeError::Refused { .. }) => Self::Refused(error),
            Err(RuntimeError::Unavailable {
                worker,
                message,
                cause,
            }) => Self::Postponed {
                cause: cause.clone(),
                error: RuntimeError::Unavailable {
                    worker,
                    message,
                    cause,
                },
            },
        }
    }
}

impl StepContext<'_> {
    /// Ends the get of the step's image in the log, once.
    pub(crate) async fn log_image_got(&self, succeeded: bool) -> Result<()> {
        let Some(get) = &self.request.image_get else {
            return Ok(());
        };
        let event = get.finish(succeeded);
        Ok(self.log.append(&get.finish_key(), 1, event).await?)
    }

    /// Ends the get of the image of a step that could not be placed. One that was stopped has no
    /// end.
    pub(crate) async fn log_no_image(&self, result: &StepResult) -> Result<()> {
        match result.end {
            StepEnd::Errored(_) => self.log_image_got(false).await,
            StepEnd::Exited(_) | StepEnd::Stopped(()) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use airside_runtime::PullSource;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_is_named_as_its_pipeline_names_it() {
        let digest = "ab".repeat(32);
        let source = json!({"repository": "h/team/app", "tag": "1", "password": "secret"});
        let source = source.as_object().expect("an object").clone();
        let image = |source: PullSource| Image::Registry {
            reference: format!("h/team/app@sha256:{digest}"),
            source,
            ask_registry: true,
            user: None,
        };
        let named = image_name(&image(PullSource(source)));
        assert_eq!(named.as_deref(), Some("h/team/app:1"));
        let named = image_name(&image(PullSource::default()));
        assert_eq!(named.as_deref(), Some("h/team/app@sha256:abababababab"));
        assert_eq!(image_name(&Image::Host), None);
    }
}
