//! Certificates for services inside a cluster whose clients learn the authority from a published
//! object: webhooks, requests of agents.
//!
//! ```text
//! a Secret ──▶ Material ──▶ Served: a rustls configuration whose certificate changes in use
//!    ▲            │    └──▶ the authorities' certificates, for clients that trust them
//!    └── renew ◀──┘
//! ```
//!
//! An authority of our own signs one certificate. Both are renewed long before they end, and never
//! at once: a new authority is published first and signs later, and an old one is trusted until it
//! ends. Several replicas share one Secret; the first one renews, the others read. Only that Secret
//! is read, created and updated.

mod issue;
mod kept;
mod material;
mod renewal;
mod secret;
mod served;

pub use issue::IssueError;
pub use kept::{CertsError, CertsOptions, OwnCerts};
pub use material::{BadMaterial, Material};
pub use renewal::{Lifetimes, Renewal, renew};
pub use secret::SecretError;
pub use served::{BadKey, Served};
