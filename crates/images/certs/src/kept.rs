//! A service's certificate for as long as the service runs: read or made at the start, then kept
//! current.

use std::{sync::Arc, time::Duration};

use airside_model::chain;
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use rustls::ServerConfig;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    BadKey, IssueError, Lifetimes, Material, Renewal, Served, renew,
    secret::{CertsSecret, SecretError, SecretWrite},
};

/// Interval of reads of the Secret, which another replica may have changed. It is well below the
/// time that a new authority has to settle.
const SECRET_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Pause after a look that failed.
const SECRET_RETRY: Duration = Duration::from_secs(15);
/// Replicas that start together write together; each time one of them gets through.
const TRIES: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error(transparent)]
    Key(#[from] BadKey),
    #[error("no configuration for TLS can be made")]
    Tls(#[from] rustls::Error),
    #[error("the secret {0} changes all the time; something else writes to it")]
    Contended(String),
}

/// Needs of a service: where its certificates are kept, and for which names they are.
#[derive(Clone, Debug)]
pub struct CertsOptions {
    pub namespace: String,
    /// The Secret's name, which new authorities are called by as well.
    pub secret: String,
    /// Names by which clients call the service, such as `name.namespace.svc`.
    pub names: Vec<String>,
    pub lifetimes: Lifetimes,
}

/// Clones share everything.
#[derive(Clone)]
pub struct OwnCerts {
    inner: Arc<Inner>,
}

struct Inner {
    kept: CertsSecret,
    wanted: CertsOptions,
    served: Served,
    /// Certificates that are served, and the time of the next renewal.
    now: Mutex<(Material, Timestamp)>,
}

impl OwnCerts {
    /// Reads what is kept, or makes it.
    pub async fn open(client: Client, wanted: CertsOptions) -> Result<Self, CertsError> {
        let kept = CertsSecret::new(client, &wanted.namespace, &wanted.secret);
        let renewal = settle(&kept, &wanted, None).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                served: Served::new(&renewal.material)?,
                now: Mutex::new((renewal.material, renewal.next)),
                kept,
                wanted,
            }),
        })
    }

    pub fn server_config(&self) -> Result<Arc<ServerConfig>, CertsError> {
        Ok(self.inner.served.server_config()?)
    }

    /// The certificates to trust, as PEM; says when they change.
    pub fn bundle(&self) -> watch::Receiver<String> {
        self.inner.served.bundle()
    }

    /// Reads the Secret, renews what is due, and serves that from now on.
    pub async fn refresh(&self) -> Result<(), CertsError> {
        let held = self.inner.now.lock().0.clone();
        let renewal = settle(&self.inner.kept, &self.inner.wanted, Some(held)).await?;
        self.inner.served.replace(&renewal.material)?;
        *self.inner.now.lock() = (renewal.material, renewal.next);
        Ok(())
    }

    /// Keeps the certificates current until the shutdown. One that cannot be renewed is served
    /// until it ends.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut pause = self.until_due();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = sleep(pause) => {}
            }
            pause = match self.refresh().await {
                Ok(()) => self.until_due(),
                Err(error) => {
                    warn!(
                        error = %chain(&error),
                        "certificates not renewed"
                    );
                    SECRET_RETRY
                }
            };
        }
    }

    fn until_due(&self) -> Duration {
        let due = self.inner.now.lock().1;
        let left = due.duration_since(Timestamp::now());
        Duration::try_from(left)
            .unwrap_or_default()
            .clamp(SECRET_RETRY, SECRET_INTERVAL)
    }
}

/// Returns the certificates that all replicas use: those of the Secret, renewed and written where
/// due. Our own are written back if the Secret was removed or damaged, as clients trust them.
async fn settle(
    kept: &CertsSecret,
    wanted: &CertsOptions,
    held: Option<Material>,
) -> Result<Renewal, CertsError> {
    let CertsOptions {
        secret,
        names,
        lifetimes,
        ..
    } = wanted;
    for _ in 0..TRIES {
        let found = kept.read().await?;
        let there = match found.as_ref().map(|found| &found.material) {
            Some(Ok(material)) => Some(material.clone()),
            Some(Err(why)) => {
                warn!(secret, error = %chain(&why), "secret of certificates unusable; it is written anew");
                None
            }
            None => None,
        };
        let basis = there.as_ref().or(held.as_ref());
        let renewal = renew(basis, secret, names, *lifetimes, Timestamp::now())?;
        if there.as_ref() == Some(&renewal.material) {
            return Ok(renewal);
        }
        if let SecretWrite::Done = kept.write(found, &renewal.material).await? {
            info!(secret, next = %renewal.next, "certificates written");
            return Ok(renewal);
        }
    }
    Err(CertsError::Contended(secret.clone()))
}
