//! Publishes the authority that agents trust: the bundle of the operator's own certificates, in a
//! ConfigMap.

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

const PUBLISH_RETRY: Duration = Duration::from_secs(5);

/// Writes the bundle now and whenever it changes. All replicas have the same bundle, so their order
/// does not matter.
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
            tracing::warn!(
                error = %chain(&error),
                config_map = CA_CONFIG_MAP,
                "authority for agents not published"
            );
            sleep(PUBLISH_RETRY).await;
            continue;
        }
        if bundle.changed().await.is_err() {
            return;
        }
    }
}
