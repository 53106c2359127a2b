//! Runs all parts together until the shutdown.

use std::{sync::Arc, time::Duration};

use airside_image_certs::{CertsError, CertsOptions, Lifetimes, OwnCerts};
use jiff::SignedDuration;
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{CERTS_SECRET, NAME, Rules, gates, hook, serve, serve::Door, watch, workloads};

/// Settings of admission.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespace of the installation; its sets speak for pods of every namespace.
    pub namespace: String,
    pub rules: Rules,
    /// True if existing workloads are placed too, which takes rights on all of them.
    pub workloads: bool,
    /// Lifetime of its certificates in tests; the usual one if there is none.
    pub certificates_last: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(
        "no client can be made for the cluster; run this in a pod with a service account, or set KUBECONFIG"
    )]
    Client(#[source] Box<kube::Error>),
    #[error("the certificate of the webhook cannot be made or read")]
    Certs(#[from] CertsError),
}

/// Serves on the listener. With the pod's service account, or by KUBECONFIG.
pub async fn run(
    listener: TcpListener,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), RunError> {
    let client = Client::try_default().await;
    let client = client.map_err(|error| RunError::Client(Box::new(error)))?;
    let namespace = &settings.namespace;
    let certs = OwnCerts::open(
        client.clone(),
        CertsOptions {
            namespace: namespace.clone(),
            secret: CERTS_SECRET.to_owned(),
            names: vec![
                format!("{NAME}.{namespace}.svc"),
                format!("{NAME}.{namespace}.svc.cluster.local"),
            ],
            lifetimes: lifetimes(settings.certificates_last),
        },
    )
    .await?;
    let seen = watch::start(client.clone(), namespace.clone(), shutdown.clone());
    let door = Door {
        seen: seen.clone(),
        rules: Arc::new(settings.rules),
    };
    let looked_after = async {
        if settings.workloads {
            workloads::place_existing(
                client.clone(),
                namespace.clone(),
                seen.clone(),
                shutdown.clone(),
            )
            .await;
        }
    };
    let tls = certs.server_config()?;
    tokio::join!(
        certs.run(shutdown.clone()),
        hook::keep(client.clone(), certs.clone(), shutdown.clone()),
        gates::keep(client.clone(), seen.clone(), shutdown.clone()),
        looked_after,
        serve::serve(listener, tls, door, shutdown.clone()),
    );
    Ok(())
}

fn lifetimes(last: Option<Duration>) -> Lifetimes {
    let last = last.and_then(|last| SignedDuration::try_from(last).ok());
    last.map(Lifetimes::of_certificates).unwrap_or_default()
}
