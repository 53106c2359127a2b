//! The agent's reconcile: observe, decide by [`plan`], act, report. Each turn observes everything
//! anew, so a crash, a restart of the runtime or a change by hand in between needs no case of its
//! own.

mod acts;
mod reporting;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use airside_image_rules::{
    NodeImagesStatus,
    plan::{Disk, GarbageMode, ObservedImage, Plan, PlanInput, plan},
};
use airside_model::chain;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::{sync::watch, task::JoinSet};
use tracing::warn;

use super::{
    Settings,
    cluster::Cluster,
    disk::Usage,
    marks::RuntimeLists,
    memory::{PullMemory, after},
    pull::{PullEnd, Puller},
    report,
    watch::DesiredState,
};
pub(crate) use acts::{depart, unmark};
use airside_containerd::{Containerd, ContainerdError};

/// Time between the label's end and the image's: the scheduler must have seen that the label is
/// gone.
const GRACE: Duration = Duration::from_secs(1);
/// Time that a write of ours may take to appear in the watch.
const ECHO: Duration = Duration::from_secs(3);
/// Pause after a step that did not work, if no image is at fault.
const RETRY: Duration = Duration::from_secs(1);
/// Pause between two looks at whether the runtime shows the last change.
const MOMENT: Duration = Duration::from_millis(50);
/// Rounds of one turn. Steps that are left then are done in the next turn.
const ROUNDS: usize = 32;

pub(crate) struct Keeper {
    settings: Settings,
    runtime: Containerd,
    cluster: Cluster,
    puller: Puller,
    known: watch::Receiver<Option<DesiredState>>,
    memory: PullMemory,
    pulls: JoinSet<PullEnd>,
    /// Since when images that go have no label any more.
    leaving: BTreeMap<String, Instant>,
    collecting: bool,
    written_labels: Option<WrittenLabels>,
    written_status: Option<WrittenStatus>,
    pin_visibility: reporting::PinVisibility,
    /// Result of the last request to the operator.
    operator: Option<Result<(), String>>,
    /// The condition MirrorUsed, once the mirror was probed.
    mirror: watch::Receiver<Option<Condition>>,
}

/// The labels that were last written to the node.
struct WrittenLabels {
    node: String,
    labels: BTreeMap<String, String>,
    at: Instant,
}

/// The status that was last written to `NodeImages`.
struct WrittenStatus {
    status: NodeImagesStatus,
    at: Instant,
}

/// The node as one round observed it.
struct Observation {
    now: Timestamp,
    lists: RuntimeLists,
    found: Vec<ObservedImage>,
    usage: Usage,
}

impl Keeper {
    pub(crate) fn new(
        settings: Settings,
        runtime: Containerd,
        cluster: Cluster,
        known: watch::Receiver<Option<DesiredState>>,
        mirror: watch::Receiver<Option<Condition>>,
        last: &NodeImagesStatus,
    ) -> Self {
        let mut memory = PullMemory::default();
        memory.recall(last);
        let puller = Puller {
            runtime: runtime.clone(),
            operator: settings.operator.clone().map(std::sync::Arc::new),
        };
        Self {
            settings,
            runtime,
            cluster,
            puller,
            known,
            memory,
            pulls: JoinSet::new(),
            leaving: BTreeMap::new(),
            collecting: false,
            written_labels: None,
            written_status: None,
            pin_visibility: reporting::PinVisibility::default(),
            operator: None,
            mirror,
        }
    }

    /// Waits until the cluster changes, a pull has ended, or the mirror was probed.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            heard = self.known.changed() => if heard.is_err() {
                // The watch never ends by itself; without it there is nothing to receive.
                std::future::pending::<()>().await;
            },
            Ok(()) = self.mirror.changed() => {}
            Some(ended) = self.pulls.join_next() => match ended {
                Ok(ended) => self.take(&ended),
                Err(error) if error.is_cancelled() => {}
                Err(error) => {
                    warn!(error = %chain(&error), "task of a pull failed");
                }
            },
        }
    }

    fn take(&mut self, ended: &PullEnd) {
        if let super::pull::How::Failed(words) = &ended.how {
            warn!(image = %ended.want.wanted.name, reason = words, "image not pulled");
        }
        if let Some(operator) = &ended.operator {
            self.operator = Some(operator.clone());
        }
        self.memory.ended(ended, Timestamp::now());
    }

    /// Returns true if a whole observation was reported to the cluster.
    pub(crate) fn has_reported(&self) -> bool {
        self.written_status
            .as_ref()
            .is_some_and(|written| written.status.heartbeat.is_some())
    }

    /// Everything that can be done now; then, how long until there is something to do again.
    pub(crate) async fn turn(&mut self) -> Duration {
        let Some(known) = self.known.borrow_and_update().clone() else {
            return self.settings.heartbeat;
        };
        self.memory.keep_only(&known.wants);
        match self.rounds(&known).await {
            Ok(wait) => wait,
            Err(error) => {
                warn!(
                    error = %chain(&error),
                    "images of the container runtime not listed"
                );
                self.report_unobserved(&known, &error).await;
                RETRY
            }
        }
    }

    async fn rounds(&mut self, known: &DesiredState) -> Result<Duration, ContainerdError> {
        for _ in 0..ROUNDS {
            let observation = self.observe().await?;
            self.memory.release(observation.now);
            if self.adopt_broken_off(&observation, &known.wants).await? {
                continue;
            }
            let plan = self.decide(known, &observation);
            if self.settle(known, &observation, &plan).await? {
                continue;
            }
            let is_labelled = self.label(known, &plan).await;
            if is_labelled && self.remove(known, &observation, &plan).await? {
                continue;
            }
            self.pull(&plan, &known.wants);
            // One look more spares a second equal report.
            if self
                .pin_visibility
                .is_new(observation.lists.pins_show(), Instant::now())
            {
                tokio::time::sleep(MOMENT).await;
                continue;
            }
            let is_reported = self.report(known, &observation, &plan).await;
            let wait = self.until_next(&observation, &plan);
            let is_done = is_labelled && is_reported;
            return Ok(if is_done { wait } else { wait.min(RETRY) });
        }
        Ok(RETRY)
    }

    async fn observe(&self) -> Result<Observation, ContainerdError> {
        let (images, names, containers) = tokio::try_join!(
            self.runtime.images(),
            self.runtime.names(),
            self.runtime.containers()
        )?;
        let lists = RuntimeLists {
            images,
            names,
            containers,
        };
        let root = &self.settings.image_root;
        let usage = Usage::of(root).unwrap_or_else(|error| {
            let path = root.display();
            warn!(%path, error = %chain(&error), "usage of the disk not read; see --image-root");
            Usage::default()
        });
        Ok(Observation {
            now: Timestamp::now(),
            found: lists.found(),
            lists,
            usage,
        })
    }

    fn decide(&mut self, known: &DesiredState, observation: &Observation) -> Plan {
        let rules = &self.settings.rules;
        // A disk that cannot be measured is neither full nor empty.
        let disk = Disk {
            used: observation.usage.used,
            capacity: match observation.usage.capacity {
                0 => u64::MAX,
                capacity => capacity,
            },
            pressure: known.node.pressure,
        };
        self.collecting = rules.mode == GarbageMode::Collect
            && (disk.is_at(rules.high) || self.collecting && disk.is_at(rules.low));
        let wanted: Vec<_> = known.wants.iter().map(|want| want.wanted.clone()).collect();
        plan(&PlanInput {
            now: observation.now,
            desired: &wanted,
            observed: &observation.found,
            attempts: &self.memory.attempts,
            pulling: &self.memory.pulling.keys().cloned().collect(),
            held: &self.memory.held.keys().cloned().collect(),
            disk,
            collecting: self.collecting,
            rules,
            pulls_at_once: self.settings.pulls_at_once,
        })
    }

    fn until_next(&self, observation: &Observation, plan: &Plan) -> Duration {
        let written = self
            .written_status
            .as_ref()
            .map(|written| written.at.elapsed());
        let heartbeat = self
            .settings
            .heartbeat
            .saturating_sub(written.unwrap_or_default());
        let leaving = self
            .leaving
            .values()
            .map(|since| GRACE.saturating_sub(since.elapsed()));
        let echo = self
            .written_labels
            .iter()
            .map(|written| ECHO.saturating_sub(written.at.elapsed()));
        let times = plan
            .again
            .into_iter()
            .chain(self.memory.held.values().map(|held| held.until));
        let told = self
            .memory
            .pulling
            .values()
            .map(|it| after(it.since, report::WORTH_TELLING));
        let times = times.chain(told).filter(|time| *time > observation.now);
        let times = times.map(|time| {
            let wait = time.duration_since(observation.now);
            Duration::try_from(wait).unwrap_or_default() + Duration::from_millis(5)
        });
        let waits = leaving
            .chain(echo.filter(|wait| !wait.is_zero()))
            .chain(self.pin_visibility.known_in())
            .chain(times);
        waits.fold(heartbeat, Duration::min)
    }
}
