//! The operator's reconcile loop. It is level-triggered: whatever woke it, it compares everything
//! that is known with what is written, and writes the difference.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use airside_image_rules::ImageSet;
use airside_model::chain;
use futures::{StreamExt as _, stream::FuturesUnordered};
use jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use parking_lot::RwLock;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Options,
    agents::Agents,
    deletion::{self, FINALIZER, HeldImages, is_being_deleted},
    desired,
    monitor::Monitor,
    news::{News, news},
    pull_secrets::PullSecrets,
    status::{StatusInput, is_worth_writing, status},
    world::{ClusterSnapshot, ObservedCluster},
    writes::Writes,
};

/// News that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(250);
/// Pause after a write that failed.
const WRITE_RETRY: Duration = Duration::from_secs(2);
/// Longest wait for the next round, whatever happens or does not.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Writes that are under way at once.
const AT_ONCE: usize = 8;

pub(crate) struct Operator {
    options: Options,
    world: ObservedCluster,
    monitor: Arc<Monitor>,
    agents: Arc<RwLock<Agents>>,
    writes: Writes,
    news: Arc<Notify>,
    /// Sets that were seen, by uid.
    seen: HashSet<String>,
    /// Since when sets are being deleted, by uid.
    deleting: HashMap<String, Instant>,
    tasks: JoinSet<()>,
}

/// A write that one reconcile decided on.
enum Write {
    Status(Box<ImageSet>, Box<airside_image_rules::ImageSetStatus>),
    Hold(Arc<ImageSet>),
    LetGo(Arc<ImageSet>, HeldImages),
    Unlabel(String, Vec<String>),
    Forget(Arc<airside_image_rules::NodeImages>),
}

impl Operator {
    pub(crate) async fn new(client: &Client, options: Options) -> Self {
        let news = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        let world = ObservedCluster::watch(client, &news, &mut tasks).await;
        let secrets = PullSecrets::new(client.clone());
        let monitor = Monitor::new(
            options.registries.clone(),
            options.rate,
            secrets,
            news.clone(),
        );
        Self {
            world,
            monitor: Arc::new(monitor),
            agents: Arc::new(RwLock::new(Agents::new(options.agent_patience))),
            writes: Writes::new(client.clone()),
            news,
            seen: HashSet::new(),
            deleting: HashMap::new(),
            tasks,
            options,
        }
    }

    pub(crate) fn world(&self) -> ObservedCluster {
        self.world.clone()
    }

    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let again = self.look().await;
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = sleep_until(tokio::time::Instant::from_std(again)) => {}
                () = self.news.notified() => sleep(TOGETHER).await,
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Reconciles everything once, and returns the time of the next reconcile if nothing happens.
    async fn look(&mut self) -> Instant {
        let (moment, clock) = (self.world.now(), Instant::now());
        self.agents.write().observe(&moment, clock);
        self.remember(&moment, clock);
        self.monitor.start_due(&mut self.tasks);
        let writes = self.to_write(&moment, clock);
        let before = self.writes.count();
        let all_done = self.write(writes).await;
        let written = self.writes.count() - before;
        if written > 0 {
            tracing::debug!(
                written,
                all = self.writes.count(),
                "objects of the cluster written"
            );
        }
        if all_done {
            self.next(clock)
        } else {
            clock + WRITE_RETRY
        }
    }

    /// Gives the monitor its topics, and records sets that come and go.
    fn remember(&mut self, moment: &ClusterSnapshot, clock: Instant) {
        let mut wants = Vec::new();
        let mut there = HashSet::new();
        for set in &moment.sets {
            let uid = set.uid().unwrap_or_default();
            there.insert(uid.clone());
            if is_being_deleted(set) {
                self.deleting.entry(uid).or_insert(clock);
                continue;
            }
            let is_new = self.seen.insert(uid);
            wants.extend(desired::wants(set, &moment.nodes, is_new));
        }
        self.monitor.want(wants);
        self.seen.retain(|uid| there.contains(uid));
        self.deleting.retain(|uid, _| there.contains(uid));
        self.writes.retain(|uid| there.contains(uid));
    }

    fn to_write(&self, moment: &ClusterSnapshot, clock: Instant) -> Vec<Write> {
        let agents = self.agents.read();
        let view = StatusInput {
            moment,
            agents: &agents,
            entry: &|topic| self.monitor.entry(topic),
            now: Timestamp::now(),
            clock,
        };
        let mut writes = Vec::new();
        for set in &moment.sets {
            let is_held = set.finalizers().iter().any(|it| it == FINALIZER);
            match (is_being_deleted(set), is_held) {
                (true, true) => {
                    let held = deletion::held(set, moment, &agents, clock);
                    writes.extend(self.farewell(set, held, &view));
                }
                (true, false) => {}
                (false, false) => writes.push(Write::Hold(set.clone())),
                (false, true) => {
                    let newest = self.writes.newest(set);
                    let status = status(&newest, &view);
                    if is_worth_writing(newest.status.as_ref(), &status) {
                        writes.push(Write::Status(Box::new(newest), Box::new(status)));
                    }
                }
            }
        }
        let lies = agents.lies(&moment.nodes, clock).into_iter();
        writes.extend(lies.map(|(node, keys)| Write::Unlabel(node, keys)));
        let is_there = |name: &str| moment.nodes.iter().any(|node| node.name_any() == name);
        let gone = moment
            .node_images
            .iter()
            .filter(|(name, _)| !is_there(name));
        writes.extend(gone.map(|(_, images)| Write::Forget(images.clone())));
        writes
    }

    /// Reports images of a deleted set that nodes still have. The set goes once no node holds it
    /// any more, or at its deadline.
    fn farewell(
        &self,
        set: &Arc<ImageSet>,
        held: HeldImages,
        view: &StatusInput<'_>,
    ) -> Option<Write> {
        let since = self.deleting.get(&set.uid().unwrap_or_default());
        let waited = since.map_or(Duration::ZERO, |since| {
            view.clock.saturating_duration_since(*since)
        });
        let is_late = waited >= self.options.deletion_deadline;
        let goes = held.waiting.is_empty() || is_late;
        let newest = self.writes.newest(set);
        let status = deletion::status(&newest, &held, view.now);
        let is_told = !is_worth_writing(newest.status.as_ref(), &status);
        match (goes, is_told) {
            (true, _) if held.is_empty() => Some(Write::LetGo(set.clone(), held)),
            (true, true) => Some(Write::LetGo(set.clone(), held)),
            (_, false) => Some(Write::Status(Box::new(newest), Box::new(status))),
            (false, true) => None,
        }
    }

    /// Makes the writes, and returns true if all succeeded.
    async fn write(&self, writes: Vec<Write>) -> bool {
        let mut waiting = writes.into_iter();
        let mut under_way = FuturesUnordered::new();
        let mut is_well = true;
        loop {
            while under_way.len() < AT_ONCE
                && let Some(write) = waiting.next()
            {
                under_way.push(self.write_one(write));
            }
            match under_way.next().await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    is_well = false;
                    tracing::warn!(
                        error = %chain(&error),
                        "object of the cluster not written"
                    );
                }
                None => return is_well,
            }
        }
    }

    async fn write_one(&self, write: Write) -> Result<(), kube::Error> {
        match write {
            Write::Status(set, status) => {
                self.writes.status(&set, &status).await?;
                self.tell(&set, news(set.status.as_ref(), &status)).await;
                Ok(())
            }
            Write::Hold(set) => self.writes.hold(&set).await,
            Write::LetGo(set, left) => {
                if self.writes.let_go(&set).await? && !left.is_empty() {
                    self.tell_left_behind(&set, &left).await;
                }
                Ok(())
            }
            Write::Unlabel(node, keys) => {
                tracing::warn!(
                    node,
                    labels = keys.len(),
                    "labels of a node removed: its agent is silent"
                );
                self.writes.unlabel(&node, &keys).await
            }
            Write::Forget(images) => {
                tracing::info!(node = %images.name_any(), "NodeImages of a deleted node removed");
                self.writes.forget(&images).await
            }
        }
    }

    /// Writes events about the set. The status has the same facts, so a failed event is only
    /// logged.
    async fn tell(&self, set: &ImageSet, news: Vec<News>) {
        for news in news {
            if let Err(error) = self.writes.event(set, news).await {
                tracing::warn!(
                    set = %set.name_any(),
                    namespace = set.namespace(),
                    error = %chain(&error),
                    "event of the set not written"
                );
            }
        }
    }

    /// Writes an event about images that stayed on nodes. Nothing depends on it: a namespace that
    /// goes with its sets takes no events.
    async fn tell_left_behind(&self, set: &ImageSet, left: &HeldImages) {
        let (name, namespace) = (set.name_any(), set.namespace());
        let words = left.words();
        tracing::warn!(set = %name, namespace, left = words, "image set deleted; its images stay on some nodes");
        if let Err(error) = self.writes.left_behind(set, &words).await {
            tracing::warn!(
                set = %name,
                namespace,
                error = %chain(&error),
                "event of the set not written"
            );
        }
    }

    fn next(&self, clock: Instant) -> Instant {
        let asking = self.monitor.next().map(|time| {
            let wait = time.duration_since(Timestamp::now());
            clock + Duration::try_from(wait).unwrap_or_default()
        });
        let silence = self.agents.read().next(clock);
        let deadline = self
            .deleting
            .values()
            .map(|since| airside_model::deadline_after(*since, self.options.deletion_deadline));
        let deadline = deadline.filter(|end| *end > clock).min();
        let times = [asking, silence, deadline, Some(clock + MAX_WAIT)];
        times
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(clock + MAX_WAIT)
    }
}
