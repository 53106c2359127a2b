//! Sends a small pod to look at a node of each kind, or at any where nothing is known of them:
//! nodes may not be able to do what the API server accepts. Fields that an older cluster does not
//! know are dropped silently, and with them the user namespace.
//!
//! The pod runs `airside-shim probe`, which leaves its answer as the termination message. It has
//! labels of its own, so that it is not a step, and is removed at once; one that a server left
//! behind goes before the next.

use std::{pin::pin, time::Duration};

use airside_protocol::{Ids, Overlay, Probe};
use airside_runtime::{Lack, Observed, Shape};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
    runtime::{WatchStreamExt, watcher},
};
use tokio::time::Instant;
use tracing::info;

use super::{Preflight, kinds};
use crate::{
    labels,
    observed::observed,
    pod::{self, CONTAINER},
    targets::{Offer, Target},
};

/// Time that the pod may take to start: an image may have to be pulled.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for which a result is believed, where something was lacking, and where nothing was.
const BELIEVED: Duration = Duration::from_secs(10 * 60);
const TRUSTED: Duration = Duration::from_secs(6 * 60 * 60);
/// Path of the termination message.
const LAST_WORDS: &str = "/dev/termination-log";

/// The last result, and its time.
pub(super) type LastResult = parking_lot::Mutex<Option<(Instant, Vec<Lack>)>>;

/// The end of a pod that was sent.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// The pod ended with an answer, on this node.
    Back(Probe, String),
    /// The pod ended without an answer, for this reason.
    Lost(String),
    /// The pod has not ended yet, and waits for this.
    Waiting(String),
}

impl Preflight {
    /// Returns the lacks that the last pod found.
    pub(crate) fn known_of_nodes(&self) -> Vec<Lack> {
        let found = self.found.lock();
        found
            .as_ref()
            .map_or(Vec::new(), |(_, lacks)| lacks.clone())
    }

    /// Sends pods, unless some were sent lately. Nothing is known of nodes to which none could be
    /// sent.
    pub(crate) async fn look_at_nodes(&self, lacks: &[Lack]) -> Option<Vec<Lack>> {
        let lacking = |shape| lacks.iter().any(|lack| lack.shapes.contains(&shape));
        let lately = |(at, found): &(Instant, Vec<Lack>)| {
            let believed = if found.is_empty() { TRUSTED } else { BELIEVED };
            at.elapsed() < believed
        };
        if lacking(Shape::Plain) || self.found.lock().as_ref().is_some_and(lately) {
            return None;
        }
        // Only this shape may mount something.
        let offered = self.target.offers(Offer::ArtifactImages);
        let shape = if self.target.host_users || !offered || lacking(Shape::Assembled) {
            Shape::Plain
        } else {
            Shape::Assembled
        };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.target.namespace);
        let sent = tokio::time::timeout(2 * START_TIMEOUT, self.send_all(&pods, shape)).await;
        let sent = sent.ok()?;
        if sent.is_empty() {
            return None;
        }
        let mut lacks = Vec::new();
        for sent in &sent {
            if let Sent::Back(probe, node) = sent {
                info!(worker = %self.target.name, %node, found = words(probe), "node examined");
            }
            let found = judge(sent, &self.target).into_iter();
            let new: Vec<Lack> = found.filter(|lack| !lacks.contains(lack)).collect();
            lacks.extend(new);
        }
        *self.found.lock() = Some((Instant::now(), lacks.clone()));
        Some(lacks)
    }

    /// One to each kind of node, or one to any.
    async fn send_all(&self, pods: &Api<Pod>, shape: Shape) -> Vec<Sent> {
        if self.remove(pods).await.is_err() {
            return Vec::new();
        }
        let nodes = kinds::one_of_each(&self.client, &self.target).await;
        let sent: Vec<Option<Sent>> = if nodes.is_empty() {
            vec![self.send(pods, shape, None).await]
        } else {
            let each = nodes.iter().map(|node| self.send(pods, shape, Some(node)));
            futures::future::join_all(each).await
        };
        sent.into_iter().flatten().collect()
    }

    /// Sends one pod. Returns none if the API server refuses it for any reason: a quota, say, or
    /// that it is away.
    async fn send(&self, pods: &Api<Pod>, shape: Shape, node: Option<&String>) -> Option<Sent> {
        let mut pod = pod::pod_for(&self.example(shape), &self.target).ok()?;
        self.make_probe(&mut pod);
        if let Some(node) = node {
            kinds::send_to(&mut pod, node);
        }
        let made = pods.create(&PostParams::default(), &pod).await.ok()?;
        let away = Away {
            pods: pods.clone(),
            name: made.metadata.name?,
        };
        Some(follow(pods, &away.name).await)
    }

    fn selector(&self) -> String {
        let (installation, worker) = (&self.installation, &self.target.name);
        format!(
            "{}={installation},{}={worker}",
            labels::INSTALLATION,
            labels::PROBE
        )
    }

    async fn remove(&self, pods: &Api<Pod>) -> kube::Result<()> {
        let left = ListParams::default().labels(&self.selector());
        let how = DeleteParams::default().grace_period(0);
        for pod in pods.list_metadata(&left).await?.items {
            match pods
                .delete(&pod.metadata.name.unwrap_or_default(), &how)
                .await
            {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Makes the pod one that is not a step and goes by itself.
    fn make_probe(&self, pod: &mut Pod) {
        pod.metadata.name = Some(format!("airside-probe-{:08x}", rand::random::<u32>()));
        let labels = pod.metadata.labels.insert([].into());
        labels.insert(
            labels::INSTALLATION.to_owned(),
            self.installation.to_string(),
        );
        labels.insert(labels::PROBE.to_owned(), self.target.name.to_string());
        labels.insert(labels::KIND.to_owned(), labels::LOOKS.to_owned());
        let Some(spec) = &mut pod.spec else {
            return;
        };
        spec.active_deadline_seconds = i64::try_from(START_TIMEOUT.as_secs()).ok();
        for container in &mut spec.containers {
            if container.name == CONTAINER {
                container.args = Some(vec!["probe".to_owned(), LAST_WORDS.to_owned()]);
            }
        }
    }
}

/// A pod that is removed when its caller no longer waits for it, also because its target goes.
struct Away {
    pods: Api<Pod>,
    name: String,
}

impl Drop for Away {
    fn drop(&mut self) {
        // At the end of the whole program no task can do it: then it goes before the next one.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (pods, name) = (self.pods.clone(), std::mem::take(&mut self.name));
        runtime.spawn(airside_tasks::named("end of a probe", async move {
            let how = DeleteParams::default().grace_period(0);
            // What is left now goes before the next one, too.
            let _ = pods.delete(&name, &how).await;
        }));
    }
}

/// Follows the pod until it has ended, or its time is over.
async fn follow(pods: &Api<Pod>, name: &str) -> Sent {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut states = pin!(
        watcher(pods.clone(), config)
            .default_backoff()
            .applied_objects()
    );
    let mut last = String::new();
    let ended = async {
        while let Some(next) = states.next().await {
            let Ok(pod) = next else { continue };
            match read(&pod) {
                Sent::Waiting(reason) => last = reason,
                ended => return Some(ended),
            }
        }
        None
    };
    match tokio::time::timeout(START_TIMEOUT, ended).await {
        Ok(Some(ended)) => ended,
        Ok(None) | Err(_) => Sent::Waiting(last),
    }
}

fn read(pod: &Pod) -> Sent {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    if let Some(probe) = last_words(pod) {
        return Sent::Back(probe, node.unwrap_or_default());
    }
    match observed(pod) {
        Observed::Doomed { reason, .. }
        | Observed::Leaving { reason, .. }
        | Observed::Gone { reason, .. } => Sent::Lost(reason),
        Observed::Pending { reason, .. } | Observed::Silent { reason, .. } => Sent::Waiting(reason),
        Observed::Started { .. } => Sent::Waiting(String::new()),
    }
}

fn last_words(pod: &Pod) -> Option<Probe> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    let step = containers.iter().find(|it| it.name == CONTAINER)?;
    let ended = step.state.as_ref()?.terminated.as_ref()?;
    serde_json::from_str(ended.message.as_deref()?).ok()
}

/// Returns the lacks that a pod's end shows.
fn judge(sent: &Sent, target: &Target) -> Vec<Lack> {
    let lack = |shapes: &[Shape], why: String| {
        let shapes = shapes.to_vec();
        vec![Lack { shapes, why }]
    };
    match sent {
        Sent::Back(
            Probe {
                ids: Ids::Shared, ..
            },
            node,
        ) if !target.host_users => lack(
            &Shape::ALL,
            format!(
                "node {node} gives pods no user namespace, so steps would be root there: turn on user namespaces \
                 (Kubernetes 1.33 or newer and a container runtime that has them), or say host_users: true in the target, \
                 or keep it off such nodes with node_selector"
            ),
        ),
        Sent::Back(..) => Vec::new(),
        // Of one node only: others may do better, so nothing is kept from them.
        Sent::Lost(reason) => lack(
            &[],
            format!("a pod that was sent to look at a node did not run: {reason}"),
        ),
        Sent::Waiting(reason) if reason.is_empty() => {
            let seconds = START_TIMEOUT.as_secs();
            lack(
                &[],
                format!("a pod that was sent to look at a node has not run for {seconds} s"),
            )
        }
        Sent::Waiting(reason) => lack(
            &[],
            format!("a pod that was sent to look at a node does not run: {reason}"),
        ),
    }
}

/// Describes a node, for the log.
fn words(probe: &Probe) -> String {
    let ids = match probe.ids {
        Ids::Shared => "pods share its user ids".to_owned(),
        Ids::Own(count) => format!("pods have user namespaces with {count} ids"),
    };
    let overlay = match &probe.overlay {
        Overlay::Works => "overlay file systems work in them".to_owned(),
        Overlay::Refused(why) => format!("overlay file systems do not work in them ({why})"),
        Overlay::Untried => "nothing is known about overlay file systems".to_owned(),
    };
    format!("{ids}, {overlay}")
}

#[cfg(test)]
mod tests;
