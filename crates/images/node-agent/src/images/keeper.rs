//! The agent's turns: look, decide by [`plan`], act, tell. Each turn begins with a look at everything, so whatever
//! happened in between (a crash, a restart of the runtime, somebody's hand) needs no case of its own.

mod acts;
mod tell;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use airside_image_rules::{
    NodeImagesStatus,
    plan::{Disk, Found, GarbageMode, Look, Plan, plan},
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
    marks::Lists,
    memory::{Memory, after},
    pull::{Ended, Puller},
    report,
    watch::Known,
};
pub(crate) use acts::{depart, unmark};
use airside_containerd::{Runtime, RuntimeError};

/// Between the label's end and the image's: who places pods must have heard of it.
const GRACE: Duration = Duration::from_secs(1);
/// How long what we wrote may take to be seen in the watch.
const ECHO: Duration = Duration::from_secs(3);
/// After something that did not work and is no image's fault.
const RETRY: Duration = Duration::from_secs(1);
/// Between two looks at whether the runtime shows what it was just told.
const MOMENT: Duration = Duration::from_millis(50);
/// Of one turn. What is left to do then is done in the next.
const ROUNDS: usize = 32;

pub(crate) struct Keeper {
    settings: Settings,
    runtime: Runtime,
    cluster: Cluster,
    puller: Puller,
    known: watch::Receiver<Option<Known>>,
    memory: Memory,
    pulls: JoinSet<Ended>,
    /// Since when images that go have no label any more.
    leaving: BTreeMap<String, Instant>,
    collecting: bool,
    labelled: Option<Labelled>,
    said: Option<Said>,
    unshown: tell::Unshown,
    /// Whether the operator answered when it was last asked.
    operator: Option<Result<(), String>>,
    /// Whether the node's mirror is used, once that was tried.
    mirror: watch::Receiver<Option<Condition>>,
}

/// What we last wrote to the node.
struct Labelled {
    node: String,
    labels: BTreeMap<String, String>,
    at: Instant,
}

/// What we last wrote to `NodeImages`.
struct Said {
    status: NodeImagesStatus,
    at: Instant,
}

/// One look.
struct Sight {
    now: Timestamp,
    lists: Lists,
    found: Vec<Found>,
    usage: Usage,
}

impl Keeper {
    pub(crate) fn new(
        settings: Settings,
        runtime: Runtime,
        cluster: Cluster,
        known: watch::Receiver<Option<Known>>,
        mirror: watch::Receiver<Option<Condition>>,
        said: &NodeImagesStatus,
    ) -> Self {
        let mut memory = Memory::default();
        memory.recall(said);
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
            labelled: None,
            said: None,
            unshown: tell::Unshown::default(),
            operator: None,
            mirror,
        }
    }

    /// Until the cluster says something else, a pull has ended, or it turned out whether the mirror is used.
    pub(crate) async fn news(&mut self) {
        tokio::select! {
            heard = self.known.changed() => if heard.is_err() {
                // The watch never ends by itself; without it there is nothing to hear.
                std::future::pending::<()>().await;
            },
            Ok(()) = self.mirror.changed() => {}
            Some(ended) = self.pulls.join_next() => match ended {
                Ok(ended) => self.take(&ended),
                Err(error) if error.is_cancelled() => {}
                Err(error) => warn!(error = %chain(&error), "a pull broke down"),
            },
        }
    }

    fn take(&mut self, ended: &Ended) {
        if let super::pull::How::Failed(words) = &ended.how {
            warn!(image = %ended.want.wanted.name, reason = words, "image not pulled");
        }
        if let Some(operator) = &ended.operator {
            self.operator = Some(operator.clone());
        }
        self.memory.ended(ended, Timestamp::now());
    }

    /// Whether a whole look was told to the cluster.
    pub(crate) fn has_reported(&self) -> bool {
        self.said
            .as_ref()
            .is_some_and(|said| said.status.heartbeat.is_some())
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
                warn!(error = %chain(&error), "the container runtime cannot be asked");
                self.say_blind(&known, &error).await;
                RETRY
            }
        }
    }

    async fn rounds(&mut self, known: &Known) -> Result<Duration, RuntimeError> {
        for _ in 0..ROUNDS {
            let sight = self.see().await?;
            self.memory.release(sight.now);
            if self.adopt_broken_off(&sight, &known.wants).await? {
                continue;
            }
            let plan = self.decide(known, &sight);
            if self.settle(known, &sight, &plan).await? {
                continue;
            }
            let is_labelled = self.label(known, &plan).await;
            if is_labelled && self.remove(known, &sight, &plan).await? {
                continue;
            }
            self.pull(&plan, &known.wants);
            // One look more spares telling the same twice.
            if self.unshown.is_new(sight.lists.pins_show(), Instant::now()) {
                tokio::time::sleep(MOMENT).await;
                continue;
            }
            let is_said = self.say(known, &sight, &plan).await;
            let wait = self.until_next(&sight, &plan);
            return Ok(match is_labelled && is_said {
                true => wait,
                false => wait.min(RETRY),
            });
        }
        Ok(RETRY)
    }

    async fn see(&self) -> Result<Sight, RuntimeError> {
        let (images, names, containers) = tokio::try_join!(
            self.runtime.images(),
            self.runtime.names(),
            self.runtime.containers()
        )?;
        let lists = Lists {
            images,
            names,
            containers,
        };
        let root = &self.settings.image_root;
        let usage = Usage::of(root).unwrap_or_else(|error| {
            warn!(path = %root.display(), error = %chain(&error), "it is not known how full the disk is; see --image-root");
            Usage::default()
        });
        Ok(Sight {
            now: Timestamp::now(),
            found: lists.found(),
            lists,
            usage,
        })
    }

    fn decide(&mut self, known: &Known, sight: &Sight) -> Plan {
        let rules = &self.settings.rules;
        // A disk that cannot be measured is neither full nor empty.
        let disk = Disk {
            used: sight.usage.used,
            capacity: match sight.usage.capacity {
                0 => u64::MAX,
                capacity => capacity,
            },
            pressure: known.node.pressure,
        };
        self.collecting = rules.mode == GarbageMode::Collect
            && (disk.is_at(rules.high) || self.collecting && disk.is_at(rules.low));
        let wanted: Vec<_> = known.wants.iter().map(|want| want.wanted.clone()).collect();
        plan(&Look {
            now: sight.now,
            wanted: &wanted,
            found: &sight.found,
            attempts: &self.memory.attempts,
            pulling: &self.memory.pulling.keys().cloned().collect(),
            held: &self.memory.held.keys().cloned().collect(),
            disk,
            collecting: self.collecting,
            rules,
            pulls_at_once: self.settings.pulls_at_once,
        })
    }

    fn until_next(&self, sight: &Sight, plan: &Plan) -> Duration {
        let said = self.said.as_ref().map(|said| said.at.elapsed());
        let heartbeat = self
            .settings
            .heartbeat
            .saturating_sub(said.unwrap_or_default());
        let leaving = self
            .leaving
            .values()
            .map(|since| GRACE.saturating_sub(since.elapsed()));
        let echo = self
            .labelled
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
        let times = times.chain(told).filter(|time| *time > sight.now);
        let times = times.map(|time| {
            let wait = time.duration_since(sight.now);
            Duration::try_from(wait).unwrap_or_default() + Duration::from_millis(5)
        });
        let waits = leaving
            .chain(echo.filter(|wait| !wait.is_zero()))
            .chain(self.unshown.known_in())
            .chain(times);
        waits.fold(heartbeat, Duration::min)
    }
}
