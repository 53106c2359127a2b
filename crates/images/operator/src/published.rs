//! Tells agents whom to trust: the bundle of our own certificates, in a ConfigMap.

use std::time::Duration;

use airside_model::chain;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::{sync::watch, time::sleep};

use crate::{CA_CONFIG_MAP, writes::MANAGER};

const AGAIN: Duration = Duration::from_secs(5);

/// Writes it now and whenever it changes. All replicas have the same, so that it does not matter whose write is last.
pub(crate) async fn keep(client: Client, namespace: String, mut bundle: watch::Receiver<String>) {
    let api: Api<ConfigMap> = Api::namespaced(client, &namespace);
    loop {
        let text = bundle.borrow_and_update().clone();
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CA_CONFIG_MAP},
            "data": {"ca.crt": text},
        });
        let params = PatchParams::apply(MANAGER).force();
        if let Err(error) = api.patch(CA_CONFIG_MAP, &params, &Patch::Apply(map)).await {
            tracing::warn!(error = %chain(&error), "CA certificates for the agents not published");
            sleep(AGAIN).await;
            continue;
        }
        if bundle.changed().await.is_err() {
            return;
        }
    }
}
