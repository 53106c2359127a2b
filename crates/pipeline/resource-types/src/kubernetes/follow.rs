//! Follows the pods behind an object: their logs and warnings go to the build's log.

mod logs;
mod owners;
mod pods;
mod warnings;

use std::{
    io::Write,
    sync::mpsc::{Receiver, SyncSender},
    time::{Duration, Instant},
};

use serde_json::Value;

pub(super) use self::logs::LogKey;
use self::{
    logs::LogStreams,
    owners::Owners,
    pods::{FollowedPods, is_run, since},
    warnings::Warnings,
};
use super::{
    api::{ApiCall, ApiClient},
    apply::AppliedObject,
    names::text,
    settings::FollowChoice,
    wait::WaitEvent,
    watch::{FOLLOWED_SECONDS, Watch, WatchEvent},
};
use crate::{Failure, log::say};

/// Time for the logs of pods that have ended, once their object is done.
const LAST_LOGS: Duration = Duration::from_secs(10);

/// Follows one object.
pub(super) struct Follower<'a> {
    client: &'a ApiClient,
    /// Path and query of the pods.
    pods: FollowedPods,
    collection: String,
    /// Moment of the API server's clock before which pods and events are another put's.
    since: String,
    is_run: bool,
    owners: Owners,
    logs: Option<LogStreams>,
    warnings: Option<Warnings>,
}

impl<'a> Follower<'a> {
    /// Begins to follow an object, if there is something to follow.
    pub(super) fn start(
        client: &'a ApiClient,
        applied: &AppliedObject,
        choice: &FollowChoice,
        sender: &SyncSender<WaitEvent>,
    ) -> Result<Option<Self>, Failure> {
        let address = &applied.address;
        let Some(pods) = FollowedPods::of(&applied.object, choice) else {
            return Ok(None);
        };
        if !address.resource.is_namespaced || !(choice.logs || choice.events) {
            return Ok(None);
        }
        let base = format!("/api/v1/namespaces/{}", address.namespace);
        let follower = Self {
            client,
            collection: format!("{base}/pods"),
            since: since(&applied.object),
            is_run: is_run(&applied.object),
            owners: Owners::new(text(&applied.object, "/metadata/uid"), &address.namespace),
            logs: choice
                .logs
                .then(|| LogStreams::new(client.access().clone(), sender.clone())),
            warnings: choice.events.then(|| Warnings::new(&address.name)),
            pods,
        };
        follower.watch(
            &follower.collection,
            follower.pods.query(),
            sender,
            WaitEvent::Pod,
        )?;
        if choice.events {
            let query = "fieldSelector=type%3DWarning".to_owned();
            follower.watch(&format!("{base}/events"), query, sender, WaitEvent::Warning)?;
        }
        Ok(Some(follower))
    }

    fn watch(
        &self,
        collection: &str,
        query: String,
        sender: &SyncSender<WaitEvent>,
        event: fn(WatchEvent) -> WaitEvent,
    ) -> Result<(), Failure> {
        let watch = Watch {
            collection: collection.to_owned(),
            query,
            object: None,
            from: None,
            seconds: FOLLOWED_SECONDS,
        };
        let sender = sender.clone();
        watch.start(self.client.access(), move |seen| {
            // Without the right there is no use in asking again.
            let is_refused = matches!(
                seen,
                WatchEvent::Trouble {
                    status: Some(_),
                    ..
                }
            );
            sender.send(event(seen)).is_ok() && !is_refused
        })
    }

    /// Takes an event that is not about the object itself.
    pub(super) fn handle(&mut self, event: WaitEvent, log: &mut dyn Write) -> Result<(), Failure> {
        match event {
            WaitEvent::Pod(WatchEvent::Seen(pod)) => self.see_pod(&pod, log)?,
            WaitEvent::Pod(WatchEvent::Trouble {
                status: Some(_),
                why,
            }) => {
                say(log, &format!("pods cannot be followed: {why}"));
            }
            WaitEvent::Warning(WatchEvent::Seen(event)) => {
                if let Some(warnings) = &mut self.warnings
                    && text(&event, "/metadata/creationTimestamp") >= self.since.as_str()
                {
                    warnings.see(event, &self.owners, log);
                }
            }
            WaitEvent::Warning(WatchEvent::Trouble {
                status: Some(_),
                why,
            }) => {
                say(log, &format!("events cannot be followed: {why}"));
            }
            WaitEvent::LogLine(line) => say(log, &line),
            WaitEvent::LogEnd { key, status } => {
                if let Some(logs) = &mut self.logs {
                    logs.end(&key, status, log)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn see_pod(&mut self, pod: &Value, log: &mut dyn Write) -> Result<(), Failure> {
        let is_older = text(pod, "/metadata/creationTimestamp") < self.since.as_str();
        if is_older || !self.is_ours(pod) {
            return Ok(());
        }
        if let Some(warnings) = &mut self.warnings {
            warnings.release(&self.owners, log);
        }
        match &mut self.logs {
            Some(logs) => logs.see_pod(pod, log),
            None => Ok(()),
        }
    }

    fn is_ours(&mut self, pod: &Value) -> bool {
        match self.pods {
            FollowedPods::Selected(_) => self.owners.add(pod),
            FollowedPods::Owned => self.owners.lead_here(self.client, pod),
        }
    }

    /// Shows the logs of a run to their end: its last lines may come after its result.
    pub(super) fn finish(
        &mut self,
        receiver: &Receiver<WaitEvent>,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        if !self.is_run || self.logs.is_none() {
            return Ok(());
        }
        let deadline = airside_model::deadline_after(Instant::now(), LAST_LOGS);
        // The watch of the pods may be behind that of the object.
        let path = format!("{}?limit=500&{}", self.collection, self.pods.query());
        if let Ok(list) = self.client.call(&path, ApiCall::Get) {
            let pods = list.get("items").and_then(Value::as_array);
            for pod in pods.map(Vec::as_slice).unwrap_or_default() {
                self.see_pod(pod, log)?;
            }
        }
        while self.logs.as_ref().is_some_and(LogStreams::is_reading) {
            let left = deadline.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left) {
                Ok(event) => self.handle(event, log)?,
                Err(_) => {
                    say(
                        log,
                        "the end of a log is not shown: it did not come in time",
                    );
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the last warnings that were shown.
    pub(super) fn recent_warnings(&self) -> Vec<String> {
        self.warnings
            .as_ref()
            .map(Warnings::recent)
            .unwrap_or_default()
    }
}
