//! Certificates for services inside a cluster whose clients are told whom to trust: webhooks, agents' questions.
//!
//! ```text
//! a Secret ──▶ Material ──▶ Served: a rustls configuration whose certificate changes while it is used
//!    ▲            │    └──▶ the authorities' certificates, for whoever has to trust them
//!    └── renew ◀──┘
//! ```
//!
//! An authority of our own signs one certificate. Both are renewed long before they end, and never at once: a new
//! authority is told of first and signs later, and an old one is trusted until it ends. Several replicas share one Secret;
//! whoever comes first renews, the others read. Only that Secret is read, created and updated.

#![forbid(unsafe_code)]

mod issue;
mod kept;
mod material;
mod renewal;
mod secret;
mod served;

pub use issue::IssueError;
pub use kept::{CertsError, OwnCerts, Wanted};
pub use material::{BadMaterial, Material};
pub use renewal::{Lifetimes, Renewal, renew};
pub use secret::SecretError;
pub use served::{BadKey, Served};
