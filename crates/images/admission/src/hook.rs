//! The authority that the API server trusts: its certificates in admission's webhook configuration.
//!
//! Everything else in that object is from its installation. Only this object is changed, by its
//! name, and only these fields.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use airside_image_certs::OwnCerts;
use airside_model::chain;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{NAME, watch::until};

/// Pause after the configuration could not be written to the API server.
const HOOK_RETRY: Duration = Duration::from_secs(15);

/// Keeps the configuration current until the shutdown.
pub(crate) async fn keep(client: Client, certs: OwnCerts, shutdown: CancellationToken) {
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = follow(client, certs) => {}
    }
}

async fn follow(client: Client, certs: OwnCerts) {
    let hooks: Api<MutatingWebhookConfiguration> = Api::all(client);
    let mut bundle = certs.bundle();
    let mut objects = watcher::watch_object(hooks.clone(), NAME)
        .default_backoff()
        .boxed();
    let mut current: Option<MutatingWebhookConfiguration> = None;
    let mut again: Option<Instant> = None;
    loop {
        tokio::select! {
            () = until(again) => {}
            changed = bundle.changed() => if changed.is_err() { return },
            found = objects.next() => match found {
                Some(Ok(found)) => {
                    if found.is_none() {
                        warn!(
                            configuration = NAME,
                            "webhook configuration missing; no pod is placed until it is installed"
                        );
                    }
                    current = found;
                }
                Some(Err(error)) => {
                    warn!(error = %chain(&error), "watch of the webhook configuration failed");
                    continue;
                }
                None => return,
            },
        }
        let is_right = match &current {
            Some(hook) => correct(&hooks, hook, &certs, &mut bundle).await,
            None => true,
        };
        again = (!is_right).then(|| Instant::now() + HOOK_RETRY);
    }
}

/// Corrects the configuration, and returns true if it is right now. The certificates of another
/// replica may be newer than ours: then they are read.
async fn correct(
    hooks: &Api<MutatingWebhookConfiguration>,
    hook: &MutatingWebhookConfiguration,
    certs: &OwnCerts,
    bundle: &mut watch::Receiver<String>,
) -> bool {
    if is_told(hook, &bundle.borrow_and_update()) {
        return true;
    }
    if let Err(error) = certs.refresh().await {
        warn!(
            error = %chain(&error),
            "certificates of the webhook not read"
        );
    }
    let wanted = bundle.borrow_and_update().clone();
    if is_told(hook, &wanted) {
        return true;
    }
    let patch = Patch::Apply(told(hook, &wanted));
    match hooks
        .patch(NAME, &PatchParams::apply(NAME).force(), &patch)
        .await
    {
        Ok(_) => {
            info!("CA bundle of the webhook configuration updated");
            true
        }
        Err(error) => {
            warn!(
                error = %chain(&error),
                "CA bundle of the webhook configuration not updated"
            );
            false
        }
    }
}

fn is_told(hook: &MutatingWebhookConfiguration, bundle: &str) -> bool {
    hook.webhooks.iter().flatten().all(|webhook| {
        let told = webhook.client_config.ca_bundle.as_ref();
        told.is_some_and(|told| told.0 == bundle.as_bytes())
    })
}

fn told(hook: &MutatingWebhookConfiguration, bundle: &str) -> Value {
    let encoded = STANDARD.encode(bundle);
    let webhooks: Vec<Value> = hook
        .webhooks
        .iter()
        .flatten()
        .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": encoded}}))
        .collect();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": webhooks,
    })
}
