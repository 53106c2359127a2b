//! Leadership: of several replicas the holder of the Lease works. Others wait until the Lease is no
//! longer renewed, by their own clock, or is released.

use std::time::{Duration, Instant};

use airside_model::chain;
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Duration of a Lease that is not renewed, and the interval of renewals.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub lasts: Duration,
    pub renewed_every: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lasts: Duration::from_secs(15),
            renewed_every: Duration::from_secs(5),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the lease {name} was lost; another replica works now")]
pub struct Lost {
    name: String,
}

pub(crate) struct Leadership {
    api: Api<Lease>,
    name: String,
    /// Identity of this replica.
    identity: String,
    terms: Terms,
}

/// The Lease as it was observed last, and the time of its last change.
struct ObservedLease {
    lease: Lease,
    at: Instant,
}

impl Leadership {
    pub(crate) fn new(
        client: Client,
        namespace: &str,
        name: &str,
        identity: String,
        terms: Terms,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity,
            terms,
        }
    }

    /// Waits until the Lease is ours; false if the shutdown came first.
    pub(crate) async fn acquire(&self, shutdown: &CancellationToken) -> bool {
        let mut seen = None;
        loop {
            match self.try_acquire(&mut seen).await {
                Ok(true) => {
                    tracing::info!(
                        lease = self.name,
                        identity = self.identity,
                        "lease acquired; this replica leads"
                    );
                    return true;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(
                        error = %chain(&error),
                        lease = self.name,
                        "lease not acquired"
                    )
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return false,
                () = sleep(self.terms.renewed_every / 2) => {}
            }
        }
    }

    async fn try_acquire(&self, seen: &mut Option<ObservedLease>) -> Result<bool, kube::Error> {
        let Some(found) = self.api.get_opt(&self.name).await? else {
            let made = self
                .api
                .create(&PostParams::default(), &self.ours(None))
                .await;
            return taken(made);
        };
        let now = Instant::now();
        let is_other = |before: &ObservedLease| {
            before.lease.metadata.resource_version != found.metadata.resource_version
        };
        if seen.as_ref().is_none_or(is_other) {
            *seen = Some(ObservedLease {
                lease: found.clone(),
                at: now,
            });
        }
        let since = seen.as_ref().map_or(now, |seen| seen.at);
        let holder = holder(&found);
        let is_free = holder.is_empty()
            || holder == self.identity
            || now.saturating_duration_since(since) > self.terms.lasts;
        if !is_free {
            return Ok(false);
        }
        let ours = self.ours(Some(&found));
        let params = PostParams::default();
        taken(self.api.replace(&self.name, &params, &ours).await)
    }

    /// Renews the Lease until the shutdown, and releases it then; an error if it is lost.
    pub(crate) async fn keep(&self, shutdown: &CancellationToken) -> Result<(), Lost> {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => {
                    self.give_back().await;
                    return Ok(());
                }
                () = sleep(self.terms.renewed_every) => {}
            }
            match self.renew().await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) => return Err(self.lost()),
                Err(error) => {
                    tracing::warn!(
                        error = %chain(&error),
                        lease = self.name,
                        "lease not renewed"
                    )
                }
            }
            // Before others may take it.
            if renewed.elapsed().saturating_add(self.terms.renewed_every) > self.terms.lasts {
                return Err(self.lost());
            }
        }
    }

    fn lost(&self) -> Lost {
        Lost {
            name: self.name.clone(),
        }
    }

    async fn renew(&self) -> Result<bool, kube::Error> {
        match self.api.get_opt(&self.name).await? {
            Some(found) if holder(&found) == self.identity => {
                let ours = self.ours(Some(&found));
                taken(
                    self.api
                        .replace(&self.name, &PostParams::default(), &ours)
                        .await,
                )
            }
            _ => Ok(false),
        }
    }

    async fn give_back(&self) {
        let Ok(Some(mut found)) = self.api.get_opt(&self.name).await else {
            return;
        };
        if holder(&found) == self.identity {
            let spec = found.spec.get_or_insert_default();
            spec.holder_identity = None;
            // The next one waits a little longer if this fails.
            let _ = self
                .api
                .replace(&self.name, &PostParams::default(), &found)
                .await;
        }
    }

    fn ours(&self, found: Option<&Lease>) -> Lease {
        let now = MicroTime(Timestamp::now());
        let before = found
            .and_then(|found| found.spec.clone())
            .unwrap_or_default();
        let is_ours = before.holder_identity.as_deref() == Some(&self.identity);
        let metadata = found.map_or_else(
            || ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            |found| found.metadata.clone(),
        );
        Lease {
            metadata,
            spec: Some(LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: i32::try_from(self.terms.lasts.as_secs()).ok(),
                acquire_time: if is_ours {
                    before.acquire_time
                } else {
                    Some(now.clone())
                },
                lease_transitions: if is_ours {
                    before.lease_transitions
                } else {
                    let transitions = before.lease_transitions.unwrap_or_default();
                    Some(transitions.saturating_add(1))
                },
                renew_time: Some(now),
                ..before
            }),
        }
    }
}

fn holder(lease: &Lease) -> &str {
    let holder = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref());
    holder.unwrap_or_default()
}

/// Returns true if the write succeeded, and false if another replica's write came first.
fn taken(written: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
    match written {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
