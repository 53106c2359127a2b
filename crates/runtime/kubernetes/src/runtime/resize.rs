//! Kept pods give back what they asked for, in place: the requests only. Limits stay, since people
//! look at them, and so does everything that runs.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use airside_model::Handle;
use airside_runtime::Error;
use kube::api::{Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::json;
use tracing::{info, warn};

use super::KubeRuntime;
use crate::{pod::CONTAINER, refusal, targets::Offer};

/// Processor time that a waiting shim needs.
const CPU: &str = "1m";
const MEMORY: &str = "16Mi";

/// The pods that this process has made smaller, or never will.
#[derive(Default)]
pub(super) struct Shrunk {
    done: Mutex<HashSet<Handle>>,
    denied: AtomicBool,
}

impl Shrunk {
    pub(super) fn forget(&self, handle: &Handle) {
        self.done.lock().remove(handle);
    }

    /// Returns true if asking for less may still be tried.
    pub(super) fn may_try(&self, handle: &Handle) -> bool {
        !self.denied.load(Ordering::Relaxed) && !self.done.lock().contains(handle)
    }
}

impl KubeRuntime {
    pub(super) async fn resize_down(&self, handle: &Handle) -> Result<(), Error> {
        let (shrunk, worker) = (&self.shrunk, &self.target.name);
        if !self.target.offers(Offer::KeptResize) || !shrunk.may_try(handle) {
            return Ok(());
        }
        let requests = json!({"cpu": CPU, "memory": MEMORY});
        let container = json!({"name": CONTAINER, "resources": {"requests": requests}});
        let patch = Patch::Strategic(json!({"spec": {"containers": [container]}}));
        let how = PatchParams::default();
        let doing = format!("cannot resize pod {handle}");
        let asked = self
            .pods
            .patch_subresource("resize", handle.as_str(), &how, &patch);
        match self.ask(&doing, asked).await? {
            Ok(_) => info!(%worker, %handle, "kept pod made smaller"),
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(kube::Error::Api(status)) if refusal::denies(&status) => {
                shrunk.denied.store(true, Ordering::Relaxed);
                let reason = &status.message;
                warn!(
                    %worker, reason,
                    "kept pods keep all they asked for: the right to patch pods/resize is missing"
                );
            }
            // The pod is what it is (a limit below this, a class that may not change): it stays so.
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                let reason = &status.message;
                info!(
                    %worker, %handle, reason,
                    "kept pod not made smaller"
                );
            }
            Err(error) => return Err(self.classify(&doing, &error)),
        }
        shrunk.done.lock().insert(handle.clone());
        Ok(())
    }
}
