//! Opens the gates of pods that wait for their images: once enough nodes have the images, or at the
//! pods' deadline.
//!
//! The images that a pod waits for are computed from the pod and the sets each time, and its
//! deadline is counted from its creation. So a restart forgets nothing, and replicas need not
//! agree: the first replica removes the gate, the others find it gone.

use std::{collections::BTreeMap, time::Duration};

use airside_image_rules::placement::{GATE, GATED, Gate, Opened, gate_of};
use airside_model::chain;
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Resource as _,
    api::{Patch, PatchParams},
    runtime::watcher::{self, Event},
};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    NAME, View,
    events::Events,
    kept::{self, Key},
    watch::{ViewReceiver, patient, until},
};

/// Pause after an API server did not take a patch.
const PATCH_RETRY: Duration = Duration::from_secs(5);

pub(crate) async fn keep(client: Client, seen: ViewReceiver, shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = follow(client, seen) => {}
    }
}

/// Pods that wait. They are few: the watch is by their label.
#[derive(Default)]
struct Waiting {
    pods: BTreeMap<Key, Pod>,
    /// Pods of a list that is not complete yet.
    coming: BTreeMap<Key, Pod>,
}

async fn follow(client: Client, mut seen: ViewReceiver) {
    let pods: Api<Pod> = Api::all(client.clone());
    let events = Events::new(client.clone());
    let watched = watcher::Config::default().labels(&format!("{GATED}=true"));
    let mut news = patient(kube::runtime::watcher(pods, watched), "pods that wait");
    let mut waiting = Waiting::default();
    let mut next: Option<Instant> = None;
    loop {
        tokio::select! {
            event = news.next() => match event {
                Some(event) => waiting.take(event),
                None => return,
            },
            changed = seen.changed() => if changed.is_err() { return },
            () = until(next) => {}
        }
        let Some(view) = seen.borrow_and_update().clone() else {
            continue;
        };
        next = waiting.open_gates(&client, &events, &view).await;
    }
}

impl Waiting {
    fn take(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.coming.clear(),
            Event::InitApply(pod) => drop(self.coming.insert(kept::key(&pod), pod)),
            Event::InitDone => self.pods = std::mem::take(&mut self.coming),
            Event::Apply(pod) => drop(self.pods.insert(kept::key(&pod), pod)),
            Event::Delete(pod) => drop(self.pods.remove(&kept::key(&pod))),
        }
        self.pods.retain(|_, pod| is_gated(pod));
    }

    /// Removes the gates of pods whose wait is over, and returns the time of the next one.
    async fn open_gates(
        &mut self,
        client: &Client,
        events: &Events,
        view: &View,
    ) -> Option<Instant> {
        let now = Timestamp::now();
        let mut next: Option<Duration> = None;
        let mut gone = Vec::new();
        for (key, pod) in &self.pods {
            let pause = match gate_of(pod, view.of(&key.0), now) {
                Gate::Closed { until } => {
                    Duration::try_from(until.duration_since(now)).unwrap_or_default()
                }
                Gate::Open(reason) => match open(client, pod, key).await {
                    Ok(is_ours) => {
                        if is_ours {
                            info!(
                                namespace = key.0,
                                pod = key.1,
                                ?reason,
                                "scheduling gate of a pod removed"
                            );
                            events
                                .tell(&pod.object_ref(&()), "Released", words(reason))
                                .await;
                        }
                        gone.push(key.clone());
                        continue;
                    }
                    Err(error) => {
                        warn!(
                            error = %chain(&error),
                            namespace = key.0,
                            pod = key.1,
                            "scheduling gate of a pod not removed"
                        );
                        PATCH_RETRY
                    }
                },
            };
            next = Some(next.map_or(pause, |next| next.min(pause)));
        }
        for key in gone {
            self.pods.remove(&key);
        }
        next.map(|pause| airside_model::deadline_after(Instant::now(), pause))
    }
}

fn is_gated(pod: &Pod) -> bool {
    gate_index(pod).is_some()
}

fn gate_index(pod: &Pod) -> Option<usize> {
    let gates = pod.spec.as_ref()?.scheduling_gates.as_ref()?;
    gates.iter().position(|gate| gate.name == GATE)
}

/// Removes the gate and its label. Returns false if another replica did it before, or the pod is
/// gone.
async fn open(client: &Client, pod: &Pod, key: &Key) -> Result<bool, kube::Error> {
    let Some(index) = gate_index(pod) else {
        return Ok(false);
    };
    let at = format!("/spec/schedulingGates/{index}");
    let label = format!("/metadata/labels/{}", GATED.replace('/', "~1"));
    let steps = json!([
        {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
        {"op": "test", "path": format!("{at}/name"), "value": GATE},
        {"op": "remove", "path": at},
        {"op": "remove", "path": label},
    ]);
    let steps = serde_json::from_value(steps).map_err(kube::Error::SerdeError)?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &key.0);
    let params = PatchParams {
        field_manager: Some(NAME.to_owned()),
        ..PatchParams::default()
    };
    match pods
        .patch(&key.1, &params, &Patch::<Pod>::Json(steps))
        .await
    {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => Ok(false),
        Err(error) => Err(error),
    }
}

fn words(why: Opened) -> String {
    match why {
        Opened::Present => "enough nodes have the images of this pod",
        Opened::Late => {
            "the pod's images are not on enough nodes, but the longest wait of its image set is over"
        }
        Opened::Unwanted => "no image set lets this pod wait any more",
    }
    .to_owned()
}
