//! The last observation of each container and its observers: [`crate::Runtime::observe`] for
//! runtimes that watch their containers themselves.

use std::collections::BTreeMap;

use airside_model::Handle;
use futures::{StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::{Observation, Observed};

#[derive(Default)]
pub struct Board {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    known: BTreeMap<Handle, Observed>,
    observers: Vec<mpsc::UnboundedSender<Observation>>,
}

impl Inner {
    fn notify(&mut self, handle: &Handle, observed: &Observed) {
        self.observers.retain(|observer| {
            let observation = Observation {
                handle: handle.clone(),
                observed: observed.clone(),
            };
            observer.send(observation).is_ok()
        });
    }
}

impl Board {
    /// Notes what was found, and says whether it is news. Who is gone stays gone.
    pub fn set(&self, handle: &Handle, observed: Observed) -> bool {
        let mut inner = self.inner.lock();
        match inner.known.get(handle) {
            Some(Observed::Gone { .. }) => return false,
            Some(known) if *known == observed => return false,
            _ => {}
        }
        inner.known.insert(handle.clone(), observed.clone());
        inner.notify(handle, &observed);
        true
    }

    /// Notes an end, unless the container was removed and forgotten before.
    pub fn end(&self, handle: &Handle, gone: Observed) {
        let mut inner = self.inner.lock();
        match inner.known.get_mut(handle) {
            None | Some(Observed::Gone { .. }) => {}
            Some(known) => {
                *known = gone.clone();
                inner.notify(handle, &gone);
            }
        }
    }

    /// Takes back that a container is being made: it was not. Observers are not notified, because
    /// the caller of the runtime is.
    pub fn take_back(&self, handle: &Handle) {
        let mut inner = self.inner.lock();
        if let Some(Observed::Pending { .. }) = inner.known.get(handle) {
            inner.known.remove(handle);
        }
    }

    /// Forgets a container that was removed. Observers that do not know its end yet get it now.
    pub fn forget(&self, handle: &Handle, gone: Observed) {
        let mut inner = self.inner.lock();
        match inner.known.remove(handle) {
            None | Some(Observed::Gone { .. }) => {}
            Some(_) => inner.notify(handle, &gone),
        }
    }

    /// The containers that are not gone.
    pub fn living(&self) -> Vec<Handle> {
        let inner = self.inner.lock();
        let living = inner
            .known
            .iter()
            .filter(|(_, known)| !matches!(known, Observed::Gone { .. }));
        living.map(|(handle, _)| handle.clone()).collect()
    }

    /// First what is known, then every change.
    pub fn observe(&self) -> BoxStream<'static, Observation> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut inner = self.inner.lock();
        let known: Vec<_> = inner
            .known
            .iter()
            .map(|(handle, observed)| Observation {
                handle: handle.clone(),
                observed: observed.clone(),
            })
            .collect();
        inner.observers.push(sender);
        let changes = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
        futures::stream::iter(known).chain(changes).boxed()
    }
}
