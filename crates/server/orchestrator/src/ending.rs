//! Containers that end though their steps have not: what takes most of a full disk.

use airside_model::{Handle, chain};
use tracing::warn;

use crate::Orchestrator;

impl Orchestrator {
    /// The container that takes most of this machine's disk, with its bytes.
    pub async fn largest_container(&self) -> Option<(Handle, u64)> {
        let mut largest: Option<(Handle, u64)> = None;
        for entry in self.parts.workers.entries().iter() {
            match entry.runtime.largest().await {
                Ok(found) => {
                    let both = largest.into_iter().chain(found);
                    largest = both.max_by_key(|(_, bytes)| *bytes);
                }
                Err(error) => {
                    let worker = entry.runtime.worker();
                    warn!(%worker, error = %chain(&error), "sizes of containers not read");
                }
            }
        }
        largest
    }

    /// Ends a container of this machine, and its step with it, without a write to the database. The
    /// driver of the step reports the reason to its build.
    pub async fn end_container(&self, handle: &Handle, why: &str) -> bool {
        for entry in self.parts.workers.entries().iter() {
            let runtime = &entry.runtime;
            let is_here = runtime.capabilities().mounts_volumes;
            let listed = if is_here {
                runtime.list().await.unwrap_or_default()
            } else {
                Vec::new()
            };
            if !listed.iter().any(|listed| listed.handle == *handle) {
                continue;
            }
            self.parts
                .ended
                .lock()
                .insert(handle.clone(), why.to_owned());
            match runtime.destroy(handle).await {
                Ok(()) => return true,
                Err(error) => warn!(
                    %handle, error = %chain(&error),
                    "container not ended"
                ),
            }
        }
        false
    }

    /// Returns true if the container was ended before its step.
    pub(crate) fn was_ended(&self, handle: &Handle) -> bool {
        self.parts.ended.lock().contains_key(handle)
    }

    /// Returns the reason why the step's container was ended, if it was. The reason is returned
    /// once.
    pub(crate) fn why_ended(&self, handle: &Handle) -> Option<String> {
        self.parts.ended.lock().remove(handle)
    }
}
