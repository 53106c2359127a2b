//! Says on a kept pod that its step has ended, for people and for autoscalers.
//!
//! The marks are metadata, which the subresource `status` takes too: so the account needs no right
//! to change what runs in a pod.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use airside_model::Handle;
use airside_runtime::Error;
use kube::api::{Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::{debug, warn};

use super::KubeRuntime;
use crate::{labels, refusal, targets::Offer};

/// The pods that this process has marked, or never will.
#[derive(Default)]
pub(super) struct Marked {
    done: Mutex<HashSet<Handle>>,
    denied: AtomicBool,
}

impl Marked {
    pub(super) fn forget(&self, handle: &Handle) {
        self.done.lock().remove(handle);
    }

    fn may_try(&self, handle: &Handle) -> bool {
        !self.denied.load(Ordering::Relaxed) && !self.done.lock().contains(handle)
    }
}

/// Returns the labels and annotations of a kept pod.
pub(super) fn marks() -> Value {
    json!({"metadata": {
        "labels": {labels::STATE: labels::KEPT},
        "annotations": {labels::SAFE_TO_EVICT: "true"},
    }})
}

impl KubeRuntime {
    pub(super) async fn mark(&self, handle: &Handle) -> Result<(), Error> {
        let (marked, worker) = (&self.marked, &self.target.name);
        if !self.target.offers(Offer::KeptMarks) || !marked.may_try(handle) {
            return Ok(());
        }
        let doing = format!("cannot mark pod {handle} as kept");
        let (how, patch) = (PatchParams::default(), Patch::Merge(marks()));
        let asked = self
            .pods
            .patch_subresource("status", handle.as_str(), &how, &patch);
        match self.ask(&doing, asked).await? {
            Ok(_) => debug!(%worker, %handle, "kept pod marked"),
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(kube::Error::Api(status)) if refusal::denies(&status) => {
                marked.denied.store(true, Ordering::Relaxed);
                let reason = &status.message;
                warn!(
                    %worker, reason,
                    "kept pods look like running ones and hold their nodes: the right to patch pods/status is missing"
                );
            }
            Err(error) => return Err(self.classify(&doing, &error)),
        }
        marked.done.lock().insert(handle.clone());
        Ok(())
    }
}
