//! Events of admission, which people read in `kubectl describe`.

use airside_model::chain;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use tracing::debug;

use crate::NAME;

#[derive(Clone)]
pub(crate) struct Events(Recorder);

impl Events {
    pub(crate) fn new(client: Client) -> Self {
        let reporter = Reporter {
            controller: NAME.to_owned(),
            instance: None,
        };
        Self(Recorder::new(client, reporter))
    }

    /// Writes an event. Nothing depends on it: where it cannot be written, it is left out.
    pub(crate) async fn tell(&self, about: &ObjectReference, reason: &str, note: String) {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.to_owned(),
            note: Some(note),
            action: "Place".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.0.publish(&event, about).await {
            debug!(
                error = %chain(&error),
                "event not written"
            );
        }
    }
}
