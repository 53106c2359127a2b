//! The store, and the parts that need nothing but the store and the data folder.

use std::time::Duration;

use airside_auth::{Auth, LocalUser};
use airside_identity_providers::Connectors;
use airside_logs::Logs;
use airside_model::InstallationId;
use airside_registry::{Registry, Tokens};
use airside_store::{Alone, Store};
use airside_telemetry::metrics::Metrics;
use airside_volumes::Volumes;
use anyhow::Result;

use super::artifact_images::ArtifactImages;
use crate::{data::DataFolder, options::ServerOptions};

/// Time after which a login ends.
const LOGIN_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// The parts of a server that workers, builds and the API are made with.
pub(super) struct Foundation {
    pub(super) store: Store,
    pub(super) alone: Alone,
    pub(super) installation: InstallationId,
    pub(super) auth: Auth,
    pub(super) connectors: Connectors,
    pub(super) logs: Logs,
    pub(super) volumes: Volumes,
    pub(super) metrics: Metrics,
    /// The registry with images of artifacts, if the server serves one.
    pub(super) images: Option<ArtifactImages>,
}

impl Foundation {
    /// Opens the database for this process alone, and what is beside it in the data folder.
    pub(super) async fn open(
        options: &ServerOptions,
        data: &DataFolder,
        users: &[LocalUser],
    ) -> Result<Self> {
        let sealer = options.keys.sealer(data)?;
        let registry_tokens = Tokens::new(&sealer.key_for("registry tokens"));
        let store = Store::open(options.database.url(data)?, sealer).await?;
        let store = store.with_quotas(options.limits.quotas());
        let alone = store.take_alone().await?;
        store.release_all_leases().await?;
        let installation = store.installation().await?;
        let owners = options.connectors.main_team(users);
        store.ensure_main_team(&owners).await?;
        let connectors = options.connectors.connectors()?;
        let providers = connectors.providers();
        let auth = Auth::with_providers(store.clone(), users.to_vec(), providers, LOGIN_LIFETIME);
        let logs = Logs::open(&data.join("logs"))?;
        let volumes = Volumes::open(&data.join("volumes"))?.with_marks(options.collecting.marks()?);
        let images = match options.listening.registry_listen {
            Some(_) => Some(artifact_images(options, data, registry_tokens, &volumes)?),
            None => None,
        };
        Ok(Self {
            store,
            alone,
            installation,
            auth,
            connectors,
            logs,
            volumes,
            metrics: Metrics::default(),
            images,
        })
    }
}

fn artifact_images(
    options: &ServerOptions,
    data: &DataFolder,
    tokens: Tokens,
    volumes: &Volumes,
) -> Result<ArtifactImages> {
    let (root, quotas) = (data.join("registry"), options.limits.quotas());
    let registry = Registry::open_with_quotas(&root, tokens, volumes.marks(), quotas)?;
    Ok(ArtifactImages::new(registry, volumes.clone()))
}
