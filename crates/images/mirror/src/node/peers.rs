//! The agents of other nodes: where they are, and which of them keeps the book on a blob.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use airside_model::chain;
use airside_oci::Digest;
use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// Pause between two looks at which agents are there.
const PEER_INTERVAL: Duration = Duration::from_secs(5);

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Peers {
    /// Address of this node for other agents.
    own: SocketAddr,
    known: Arc<RwLock<BTreeSet<SocketAddr>>>,
}

impl Peers {
    pub(crate) fn new(own: SocketAddr) -> Self {
        Self {
            own,
            known: Arc::new(RwLock::new(BTreeSet::from([own]))),
        }
    }

    pub(crate) fn own(&self) -> SocketAddr {
        self.own
    }

    pub(crate) fn are_others(&self) -> bool {
        self.known.read().len() > 1
    }

    /// Resolves the name of a headless Service, now and then, until the shutdown. That needs no
    /// right in the cluster.
    pub(crate) async fn follow(&self, service: &str, shutdown: &CancellationToken) {
        loop {
            match tokio::net::lookup_host((service, self.own.port())).await {
                Ok(found) => self.set(found.collect()),
                // Known agents stay known: names are resolved elsewhere than blobs.
                Err(error) => {
                    tracing::debug!(service, error = %chain(&error), "agents of other nodes not looked up")
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(PEER_INTERVAL) => {}
            }
        }
    }

    fn set(&self, mut found: BTreeSet<SocketAddr>) {
        found.insert(self.own);
        let mut known = self.known.write();
        if *known != found {
            tracing::info!(
                nodes = found.len(),
                "list of agents that share blobs changed"
            );
            *known = found;
        }
    }

    /// Returns the blob's keeper: agents that see the same nodes find the same one.
    pub(crate) fn keeper(&self, digest: &Digest) -> SocketAddr {
        let known = self.known.read();
        keeper(&known, digest).unwrap_or(self.own)
    }
}

/// The highest of hashes: where one goes, only its blobs move.
fn keeper(known: &BTreeSet<SocketAddr>, digest: &Digest) -> Option<SocketAddr> {
    let weight = |peer: &&SocketAddr| Sha256::digest(format!("{peer} {digest}"));
    known.iter().max_by_key(weight).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_spread_and_stay_where_they_are() {
        let peer = |number: u8| SocketAddr::from(([10, 0, 0, number], 5002));
        let three: BTreeSet<_> = (1..4).map(peer).collect();
        let two: BTreeSet<_> = (1..3).map(peer).collect();
        let blobs: Vec<Digest> = (0..100)
            .map(|number| Digest::of_sha256([number; 32]))
            .collect();
        let mut counts = std::collections::BTreeMap::new();
        for blob in &blobs {
            let before = keeper(&three, blob).unwrap();
            *counts.entry(before).or_insert(0) += 1;
            if before != peer(3) {
                assert_eq!(keeper(&two, blob), Some(before));
            }
        }
        assert!(
            counts.len() == 3 && counts.values().all(|count| *count > 10),
            "{counts:?}"
        );
        assert_eq!(keeper(&BTreeSet::new(), &blobs[0]), None);
    }
}
