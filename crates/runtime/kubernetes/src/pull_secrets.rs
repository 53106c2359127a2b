//! Secrets with which the kubelet pulls the images of steps whose source has credentials.
//!
//! One for each team and credential of a target, shared by all its pods and removed once none uses
//! it. Its name is random and no hash: a reader of pods would have something to try passwords
//! against. Therefore this server alone knows the names; since it may not list Secrets, it
//! remembers each before it is made ([`PullSecretNames`]).

mod credential;

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    sync::{Arc, OnceLock},
    time::Duration,
};

use airside_model::{InstallationId, WorkerName};
use airside_runtime::Error;
use async_trait::async_trait;
use k8s_openapi::{
    ByteString,
    api::core::v1::{LocalObjectReference, Pod, Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use parking_lot::Mutex as SyncMutex;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    labels,
    refusal::{classify, unavailable},
};
pub(crate) use credential::Credential;

/// An unused one stays for the next build of its team.
const LINGER: Duration = Duration::from_secs(10 * 60);
/// Time for which a secret that was there is taken to be there. An administrator may have removed
/// it; asking for it again shows that.
const TRUSTED: Duration = Duration::from_secs(60);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Remembers the names of pull secrets beyond the life of this process.
#[async_trait]
pub trait PullSecretNames: Send + Sync + 'static {
    /// Notes a Secret that is about to be made.
    async fn remember(&self, worker: &WorkerName, name: &str) -> Result<(), String>;
    /// Removes the note of a Secret that was removed.
    async fn forget(&self, worker: &WorkerName, name: &str) -> Result<(), String>;
    async fn all(&self, worker: &WorkerName) -> Result<Vec<String>, String>;
}

/// Names that last as long as the process.
#[derive(Clone, Default)]
pub struct NamesInMemory(Arc<SyncMutex<Vec<String>>>);

#[async_trait]
impl PullSecretNames for NamesInMemory {
    async fn remember(&self, _: &WorkerName, name: &str) -> Result<(), String> {
        self.0.lock().push(name.to_owned());
        Ok(())
    }

    async fn forget(&self, _: &WorkerName, name: &str) -> Result<(), String> {
        self.0.lock().retain(|known| known != name);
        Ok(())
    }

    async fn all(&self, _: &WorkerName) -> Result<Vec<String>, String> {
        Ok(self.0.lock().clone())
    }
}

/// The pull secrets of one target.
pub(crate) struct PullSecrets {
    secrets: Api<Secret>,
    installation: InstallationId,
    worker: WorkerName,
    names: OnceLock<Arc<dyn PullSecretNames>>,
    /// Known Secrets; locked while one is made, so that two steps do not make two.
    known: Mutex<HashMap<Credential, Known>>,
}

struct Known {
    name: String,
    /// Time at which the Secret was last seen to be there.
    made: Option<Instant>,
    used: Instant,
}

impl PullSecrets {
    pub(crate) fn new(
        secrets: Api<Secret>,
        installation: InstallationId,
        worker: WorkerName,
    ) -> Self {
        Self {
            secrets,
            installation,
            worker,
            names: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    pub(crate) fn remember_in(&self, names: Arc<dyn PullSecretNames>) {
        // The first one stays.
        let _ = self.names.set(names);
    }

    fn names(&self) -> &Arc<dyn PullSecretNames> {
        self.names
            .get_or_init(|| Arc::new(NamesInMemory::default()))
    }

    /// Makes sure that the secret for a step's image is there.
    pub(crate) async fn ensure(&self, credential: Credential) -> Result<String, Error> {
        let mut known = self.known.lock().await;
        let now = Instant::now();
        let there = match known.entry(credential.clone()) {
            Entry::Occupied(there) => there.into_mut(),
            // Also one that cannot be made now keeps its name: the next try is for that name.
            Entry::Vacant(place) => {
                let name = format!("airside-pull-{:032x}", rand::random::<u128>());
                let remembered = self.names().remember(&self.worker, &name).await;
                remembered.map_err(|error| self.forgetful(&error))?;
                place.insert(Known {
                    name,
                    made: None,
                    used: now,
                })
            }
        };
        there.used = now;
        if there.made.is_none_or(|made| now - made >= TRUSTED) {
            self.make(&there.name, &credential).await?;
            there.made = Some(now);
        }
        Ok(there.name.clone())
    }

    /// Makes the secret. One that is there already is fine: its name cannot be guessed.
    async fn make(&self, name: &str, credential: &Credential) -> Result<(), Error> {
        let doing = "cannot create the pull secret of the step's image";
        let how = PostParams::default();
        let secret = self.secret(name, credential);
        let made = tokio::time::timeout(REQUEST_TIMEOUT, self.secrets.create(&how, &secret)).await;
        match made {
            Err(_) => Err(self.silent(doing)),
            Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Ok(()),
            Ok(Err(error)) => Err(classify(&self.worker, doing, &error)),
            Ok(Ok(_)) => Ok(()),
        }
    }

    fn secret(&self, name: &str, credential: &Credential) -> Secret {
        let labels = [
            (labels::INSTALLATION, self.installation.to_string()),
            (labels::WORKER, self.worker.to_string()),
            ("airside.dev/team", labels::value(&credential.team)),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value));
        let config = ByteString(credential.docker_config().into_bytes());
        Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(BTreeMap::from(labels)),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
            data: Some(BTreeMap::from([(".dockerconfigjson".to_owned(), config)])),
            ..Secret::default()
        }
    }

    /// Returns the names of secrets that [`PullSecrets::collect`] could remove.
    pub(crate) async fn candidates(&self) -> Result<Vec<String>, Error> {
        let all = self.names().all(&self.worker).await;
        let all = all.map_err(|error| self.forgetful(&error))?;
        let known = self.known.lock().await;
        let now = Instant::now();
        let fresh: HashSet<&str> = (known.values())
            .filter(|known| now - known.used < LINGER)
            .map(|known| known.name.as_str())
            .collect();
        let unused = all.iter().filter(|name| !fresh.contains(name.as_str()));
        Ok(unused.cloned().collect())
    }

    /// Removes one that no pod names.
    pub(crate) async fn collect(&self, name: &str) -> Result<(), Error> {
        let doing = "cannot remove a pull secret that no pod uses";
        let mut known = self.known.lock().await;
        let now = Instant::now();
        if known
            .values()
            .any(|known| known.name == name && now - known.used < LINGER)
        {
            return Ok(());
        }
        let how = DeleteParams::default();
        match tokio::time::timeout(REQUEST_TIMEOUT, self.secrets.delete(name, &how)).await {
            Err(_) => return Err(self.silent(doing)),
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => {}
            Ok(Err(error)) => return Err(classify(&self.worker, doing, &error)),
            Ok(Ok(_)) => {}
        }
        known.retain(|_, known| known.name != name);
        let forgotten = self.names().forget(&self.worker, name).await;
        forgotten.map_err(|error| self.forgetful(&error))
    }

    fn silent(&self, doing: &str) -> Error {
        let message = format!("{doing}: the API server does not answer");
        unavailable(&self.worker, message)
    }

    fn forgetful(&self, reason: &str) -> Error {
        let message = format!("the names of pull secrets are not at hand: {reason}");
        unavailable(&self.worker, message)
    }
}

/// Lets a pod pull with a secret; the label says so to [`in_use`].
pub(crate) fn refer(pod: &mut Pod, name: &str) {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(labels::PULL_SECRET.to_owned(), name.to_owned());
    if let Some(spec) = &mut pod.spec {
        let secrets = spec.image_pull_secrets.get_or_insert_default();
        secrets.push(LocalObjectReference {
            name: name.to_owned(),
        });
    }
}

/// Returns the secret that a pod pulls with, from its labels.
pub(crate) fn in_use(labels: Option<&BTreeMap<String, String>>) -> Option<String> {
    labels?.get(labels::PULL_SECRET).cloned()
}
