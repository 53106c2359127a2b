//! The limit on pods: those that the watch has seen, and those that are being created.

use std::{collections::HashSet, sync::Arc};

use airside_model::{Handle, WorkerName};
use airside_runtime::{Cause, Error, Shortage};
use parking_lot::Mutex;

use super::Watched;

/// A refusal of one more pod by the target's own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("the target's own quota of {0} pods (max_pods) is used up")]
    Full(u32),
    #[error("the pods that are there have not been counted yet, and max_pods limits them")]
    Uncounted,
}

impl Full {
    pub(crate) fn into_runtime(self, worker: &WorkerName) -> Error {
        let cause = match self {
            Self::Full(_) => Cause::NoRoom {
                shortage: Shortage::Pods,
            },
            Self::Uncounted => Cause::Other,
        };
        Error::Unavailable {
            worker: worker.clone(),
            message: self.to_string(),
            cause,
        }
    }
}

#[derive(Default)]
pub(super) struct Room(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    counted: bool,
    /// Asked for, and not seen by the watch yet.
    coming: HashSet<Handle>,
}

impl Room {
    /// Beside `count` others that have been seen.
    pub(super) fn take(&self, handle: &Handle, count: usize, max: Option<u32>) -> Result<(), Full> {
        let mut taken = self.0.lock();
        if let Some(max) = max {
            if !taken.counted {
                return Err(Full::Uncounted);
            }
            let others = taken.coming.iter().filter(|coming| *coming != handle);
            if count + others.count() >= max as usize {
                return Err(Full::Full(max));
            }
        }
        taken.coming.insert(handle.clone());
        Ok(())
    }

    pub(super) fn seen(&self, handle: &Handle) {
        self.0.lock().coming.remove(handle);
    }

    /// Notes that all pods that were there have been seen. Pods that came and went meanwhile must
    /// not take room for ever, so this forgets those that are still coming too: for a moment there
    /// may be as many more.
    pub(super) fn counted(&self) {
        let mut taken = self.0.lock();
        taken.counted = true;
        taken.coming.clear();
    }
}

/// Room that is given back unless the pod was made.
pub(crate) struct Reserved {
    pub(super) watched: Arc<Watched>,
    pub(super) handle: Option<Handle>,
}

impl Reserved {
    /// The pod is there: the watch sees it soon.
    pub(crate) fn keep(mut self) {
        self.handle = None;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.watched.room.seen(&handle);
        }
    }
}
