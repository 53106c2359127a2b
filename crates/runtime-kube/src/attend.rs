//! Attends to a target: whether its API server answers, and what it lacks. Two tasks, so that a slow probe
//! keeps nobody from noticing that the server is gone.

use std::{sync::Arc, time::Duration};

use airside_model::InstallationId;
use airside_runtime::{Condition, Lack};
use kube::Client;
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::Instant,
};
use tracing::{info, warn};

use crate::{
    network_policy,
    preflight::{Preflight, Unknown},
    targets::Target,
};

/// How often a server that answers is asked.
const PULSE: Duration = Duration::from_secs(10);
/// How often one that does not.
const ANXIOUS: Duration = Duration::from_secs(1);
/// How soon what is lacking is looked for again: somebody may have mended it.
const AGAIN: Duration = Duration::from_secs(30);
/// How soon what could not be found out is tried again.
const SOON: Duration = Duration::from_secs(3);

/// Starts both; they end with the handle.
pub(crate) fn start(
    target: &Target,
    installation: &InstallationId,
    client: &Client,
) -> (watch::Receiver<Condition>, AbortHandle) {
    let (condition, receiver) = watch::channel(Condition::default());
    let attendant = Attendant {
        target: target.clone(),
        client: client.clone(),
        condition,
        back: Arc::default(),
    };
    let preflight = Preflight::new(target, installation, client);
    let attending = tokio::spawn(async move {
        tokio::join!(attendant.feel_pulse(), attendant.look_for_lacks(&preflight));
    });
    (receiver, attending.abort_handle())
}

struct Attendant {
    target: Target,
    client: Client,
    condition: watch::Sender<Condition>,
    /// The server answers again.
    back: Arc<Notify>,
}

impl Attendant {
    async fn feel_pulse(&self) {
        let after = self.target.stalled_after;
        let mut heard = Instant::now();
        let mut away = false;
        loop {
            let answers = self.answers().await;
            if answers {
                heard = Instant::now();
                self.revive();
                if std::mem::take(&mut away) {
                    self.back.notify_one();
                }
            } else {
                away = true;
                if heard.elapsed() >= after {
                    self.stall();
                }
            }
            let pause = if answers {
                PULSE.min(after / 2)
            } else {
                ANXIOUS
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Any answer will do, be it a refusal.
    async fn answers(&self) -> bool {
        let question = http::Request::get("/version").body(Vec::new());
        let question = question.expect("a fixed path is a valid request");
        let answer = self.client.request_text(question);
        match tokio::time::timeout(self.target.stalled_after, answer).await {
            Ok(Ok(_)) => true,
            Ok(Err(kube::Error::Api(status))) => status.code < 500,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    fn stall(&self) {
        let seconds = self.target.stalled_after.as_secs();
        let words = format!("its API server has not answered for {seconds} s");
        self.condition.send_if_modified(|condition| {
            let fresh = condition.stalled.is_none();
            if fresh {
                warn!(worker = %self.target.name, "worker stalled: {words}");
                condition.stalled = Some(words);
            }
            fresh
        });
    }

    fn revive(&self) {
        self.condition.send_if_modified(|condition| {
            let stalled = condition.stalled.take().is_some();
            if stalled {
                info!(worker = %self.target.name, "worker running: its API server answers again");
            }
            stalled
        });
    }

    async fn look_for_lacks(&self, preflight: &Preflight) {
        loop {
            let again = match preflight.run().await {
                Ok(lacks) => self.learn_all(preflight, lacks).await.then_some(AGAIN),
                Err(Unknown) => Some(SOON),
            };
            tokio::select! {
                () = self.back.notified() => {}
                () = tokio::time::sleep(again.unwrap_or_default()), if again.is_some() => {}
            }
        }
    }

    /// What was asked for is known at once; a pod takes its time. Whether anything can be mended.
    async fn learn_all(&self, preflight: &Preflight, asked: Vec<Lack>) -> bool {
        let remarks: Vec<Lack> = network_policy::warning(&self.target).into_iter().collect();
        let learn = |nodes: &[Lack]| self.learn([&asked[..], nodes, &remarks].concat());
        learn(&preflight.known_of_nodes());
        if let Some(found) = preflight.look_at_a_node(&asked).await {
            learn(&found);
        }
        !asked.is_empty() || !preflight.known_of_nodes().is_empty()
    }

    /// Says what is new, once.
    fn learn(&self, lacks: Vec<Lack>) {
        self.condition.send_if_modified(|condition| {
            if condition.lacks == lacks {
                return false;
            }
            let worker = &self.target.name;
            for lack in lacks.iter().filter(|lack| !condition.lacks.contains(lack)) {
                let shapes: Vec<String> = lack.shapes.iter().map(ToString::to_string).collect();
                warn!(%worker, cannot_run = shapes.join(", "), "worker lacks something: {}", lack.why);
            }
            if lacks.is_empty() {
                info!(%worker, "worker lacks nothing any more");
            }
            condition.lacks = lacks;
            true
        });
    }
}
