//! The one port that shims talk to.
//!
//! The hub authenticates a shim by its claim, hands it its order, passes its output on to the
//! step's driver and confirms what is durable. It streams volumes in and out. It decides nothing
//! about builds: the driver of a step *attaches* to the step's handle and receives a [`Session`].
//!
//! ```text
//! shim ──TLS──▶ connection ──▶ claim ──▶ slot ──events──▶ Session (the step's driver)
//!                    ▲                     │
//!                    └──── directives ◀────┘
//! ```
//!
//! Agents, machines that offer themselves as workers, dial the same port. The hub hands their
//! connections to the service that [serves](AgentService) them.

mod agents;
mod claim;
mod connection;
mod hijack;
mod identity;
mod lanes;
mod server;
mod session;
mod transfer;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use airside_store::{Container, Store};
use airside_volumes::Volumes;
use async_trait::async_trait;

pub use agents::{AgentReceiver, AgentSender, AgentService, AgentWire};
pub use hijack::{Hijack, HijackError, HijackEvent, HijackInput, HijackRequest};
pub use identity::{HubIdentity, HubIdentityError};
pub use server::{Hub, listen};
pub use session::{Session, SessionEvent, Work};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the hub cannot listen on {address}; is another airside running? choose with --hub-listen"
    )]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("the hub cannot listen at {}", path.display())]
    Socket {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the hub's key cannot be used for TLS")]
    Tls(#[from] rustls::Error),
}

/// Checks what a claim presents beyond its token, for workers that ask for more.
#[async_trait]
pub trait Proofs: Send + Sync + 'static {
    async fn verify(&self, container: &Container, proof: Option<&str>) -> Result<(), Unproven>;
}

/// The reason why a claim is not believed.
#[derive(Debug)]
pub struct Unproven {
    /// Shown in the build.
    pub reason: String,
    /// True if the claim could not be checked just now; the shim may try again.
    pub retry: bool,
}

/// The parts of a server that the hub works with.
#[derive(Clone)]
pub struct Parts {
    pub store: Store,
    pub volumes: Volumes,
    pub proofs: Arc<dyn Proofs>,
}
