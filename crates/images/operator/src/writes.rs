//! Writes of the operator into the cluster, each made once, and counted.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use airside_image_rules::{ImageSet, ImageSetStatus, NodeImages};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{deletion::FINALIZER, news::News};

/// Name of the operator as a field manager.
pub(crate) const MANAGER: &str = crate::OPERATOR;

pub(crate) struct Writes {
    client: Client,
    recorder: Recorder,
    /// The last that was written of each set, by its uid, until watches show it.
    written: Mutex<HashMap<String, (u64, ImageSetStatus)>>,
    count: AtomicU64,
}

impl Writes {
    pub(crate) fn new(client: Client) -> Self {
        let reporter = Reporter {
            controller: MANAGER.to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            written: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// Returns the number of writes.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the set with its newest known status: the watch may not have shown the last write
    /// yet.
    pub(crate) fn newest(&self, set: &ImageSet) -> ImageSet {
        let mut set = set.clone();
        let mut written = self.written.lock();
        let uid = set.uid().unwrap_or_default();
        if let Some((version, status)) = written.get(&uid) {
            if *version > version_of(&set) {
                set.status = Some(status.clone());
            } else {
                written.remove(&uid);
            }
        }
        set
    }

    /// Forgets sets that are gone.
    pub(crate) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.written.lock().retain(|uid, _| is_there(uid));
    }

    pub(crate) async fn status(
        &self,
        set: &ImageSet,
        status: &ImageSetStatus,
    ) -> Result<(), kube::Error> {
        let patch = json!({
            "apiVersion": ImageSet::api_version(&()),
            "kind": ImageSet::kind(&()),
            "status": status,
        });
        self.counted();
        let params = PatchParams::apply(MANAGER).force();
        let written = self
            .sets(set)
            .patch_status(&set.name_any(), &params, &Patch::Apply(patch))
            .await;
        let written = match written {
            // It was deleted in the meantime.
            Err(kube::Error::Api(answer)) if answer.code == 404 => return Ok(()),
            other => other?,
        };
        let uid = written.uid().unwrap_or_default();
        self.written
            .lock()
            .insert(uid, (version_of(&written), status.clone()));
        Ok(())
    }

    /// Adds the finalizer: the set stays until its images are off the nodes.
    pub(crate) async fn hold(&self, set: &ImageSet) -> Result<(), kube::Error> {
        let mut finalizers = set.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        self.finalizers(set, finalizers).await.map(drop)
    }

    /// Removes the finalizer. Returns false if the set was changed meanwhile: then it is reconciled
    /// again.
    pub(crate) async fn let_go(&self, set: &ImageSet) -> Result<bool, kube::Error> {
        let others = set.finalizers().iter().filter(|it| *it != FINALIZER);
        self.finalizers(set, others.cloned().collect()).await
    }

    /// Writes the finalizers, unless the set was changed since it was observed.
    async fn finalizers(
        &self,
        set: &ImageSet,
        finalizers: Vec<String>,
    ) -> Result<bool, kube::Error> {
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": set.metadata.resource_version,
        }});
        self.counted();
        let (sets, params) = (self.sets(set), PatchParams::default());
        match sets
            .patch(&set.name_any(), &params, &Patch::Merge(patch))
            .await
        {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            other => other.map(|_| true),
        }
    }

    /// Takes labels away from a node whose agent does not vouch for them any more.
    pub(crate) async fn unlabel(&self, node: &str, keys: &[String]) -> Result<(), kube::Error> {
        let labels: serde_json::Map<String, Value> =
            keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        let patch = json!({"metadata": {"labels": labels}});
        let nodes: Api<Node> = Api::all(self.client.clone());
        self.counted();
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        nodes
            .patch(node, &params, &Patch::Merge(patch))
            .await
            .map(drop)
    }

    /// Removes the `NodeImages` of a node that is gone.
    pub(crate) async fn forget(&self, images: &NodeImages) -> Result<(), kube::Error> {
        let api: Api<NodeImages> = Api::all(self.client.clone());
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: images.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        self.counted();
        match api.delete(&images.name_any(), &params).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }

    pub(crate) async fn left_behind(&self, set: &ImageSet, what: &str) -> Result<(), kube::Error> {
        let event = Event {
            type_: EventType::Warning,
            reason: "LeftBehind".to_owned(),
            note: Some(format!(
                "the set is deleted, but nodes still have images: {what}. Their agents remove them later"
            )),
            action: "Delete".to_owned(),
            secondary: None,
        };
        self.counted();
        self.recorder.publish(&event, &set.object_ref(&())).await
    }

    pub(crate) async fn event(&self, set: &ImageSet, news: News) -> Result<(), kube::Error> {
        let event = Event {
            type_: if news.is_warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: news.reason,
            note: Some(news.note),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        self.counted();
        self.recorder.publish(&event, &set.object_ref(&())).await
    }

    fn sets(&self, set: &ImageSet) -> Api<ImageSet> {
        Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default())
    }

    fn counted(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// API servers count upwards.
fn version_of(set: &ImageSet) -> u64 {
    let version = set.metadata.resource_version.as_deref();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}
