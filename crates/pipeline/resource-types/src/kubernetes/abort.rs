//! Cleans up when the build is aborted: what this put has created is deleted, once.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
    thread,
    time::{Duration, Instant},
};

use airside_model::chain;
use serde_json::{Value, json};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use super::{
    access::ClusterAccess,
    api::{ApiCall, ApiClient},
    apply::AppliedObject,
    kinds::ObjectAddress,
    names::text,
    wait::WaitEvent,
};
use crate::Failure;

/// Time for all deletions together: the step's process is killed soon after it was asked to end.
const LIMIT: Duration = Duration::from_secs(2);

/// Returns the body of a deletion of this very object, with all that depends on it.
pub(super) fn deletion(uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    })
}

/// Waits for SIGTERM beside the put.
pub(super) struct AbortGuard {
    shared: Arc<AbortState>,
}

struct AbortState {
    access: ClusterAccess,
    /// The objects that this put has created; none that was there before.
    created: Mutex<Vec<(ObjectAddress, String)>>,
    is_aborted: AtomicBool,
}

impl AbortGuard {
    /// Begins to listen. From here on the signal alone does not end the process.
    pub(super) fn start(
        access: &ClusterAccess,
        sender: SyncSender<WaitEvent>,
    ) -> Result<Self, Failure> {
        let deaf = |error: std::io::Error| {
            Failure::said(format!(
                "cannot listen for the end of the build: {}",
                chain(&error)
            ))
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(deaf)?;
        let terminate = {
            let _context = runtime.enter();
            signal(SignalKind::terminate()).map_err(deaf)?
        };
        let shared = Arc::new(AbortState {
            access: access.clone(),
            created: Mutex::default(),
            is_aborted: AtomicBool::new(false),
        });
        let state = shared.clone();
        let thread = thread::Builder::new().name("abort".to_owned());
        let listening = thread.spawn(move || listen(&runtime, terminate, &state, &sender));
        listening.map_err(deaf)?;
        Ok(Self { shared })
    }

    /// Notes an object that shall go if the build is aborted.
    pub(super) fn add(&self, applied: &AppliedObject) -> Result<(), Failure> {
        if applied.is_new {
            let uid = text(&applied.object, "/metadata/uid").to_owned();
            self.shared.created().push((applied.address.clone(), uid));
        }
        if self.shared.is_aborted.load(Ordering::SeqCst) {
            // It came into being while the others were deleted.
            let lines = self.shared.delete_all();
            return Err(Failure::said(lines.join("\n")));
        }
        Ok(())
    }
}

fn listen(
    runtime: &Runtime,
    mut terminate: Signal,
    state: &AbortState,
    sender: &SyncSender<WaitEvent>,
) {
    if runtime.block_on(terminate.recv()).is_none() {
        return;
    }
    state.is_aborted.store(true, Ordering::SeqCst);
    let lines = state.delete_all();
    // The put may have ended meanwhile, and then needs no message.
    let _ = sender.send(WaitEvent::Aborted(lines));
}

impl AbortState {
    fn created(&self) -> MutexGuard<'_, Vec<(ObjectAddress, String)>> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the newest first; returns a line about each.
    fn delete_all(&self) -> Vec<String> {
        let begun = Instant::now();
        let mut lines = vec!["the build was aborted".to_owned()];
        let client = match ApiClient::in_haste(&self.access, LIMIT) {
            Ok(client) => client,
            Err(failure) => {
                lines.push(format!("nothing is deleted: {}", chain(&failure)));
                return lines;
            }
        };
        loop {
            let Some((address, uid)) = self.created().pop() else {
                return lines;
            };
            if begun.elapsed() >= LIMIT {
                lines.push(format!("{address} is not deleted: there is no time left"));
                continue;
            }
            let deleted = client.call(&address.path(), ApiCall::Delete(&deletion(&uid)));
            lines.push(match deleted {
                Ok(_) => format!("deleted {address}"),
                Err(error) => error.into_failure(&format!("delete {address}")).to_string(),
            });
        }
    }
}
