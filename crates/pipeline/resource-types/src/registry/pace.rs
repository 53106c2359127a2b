//! A pause before each request, for callers that ask registries often.

use std::{fmt, sync::Arc};

/// Called before each request; it returns when the request may be made.
#[derive(Clone, Default)]
pub struct RequestPause(Option<Arc<dyn Fn() + Send + Sync>>);

impl RequestPause {
    pub fn new(wait: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(wait)))
    }

    pub(super) fn wait(&self) {
        if let Some(wait) = &self.0 {
            wait();
        }
    }
}

impl fmt::Debug for RequestPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pace").field(&self.0.is_some()).finish()
    }
}
