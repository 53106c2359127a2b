//! A registry of images inside the server: the OCI distribution API on a folder of its own.
//!
//! ```text
//! request ──▶ serve ──▶ route (which endpoint) ──▶ token (its rights) ──▶ store (folders)
//! folder with a root file system ──▶ publish ──▶ store
//! container runtime ──▶ loopback of its node ──▶ proxy ──▶ this registry, at the server
//! ```
//!
//! Repositories belong to teams by their names (`team/NAME/…`), and a token opens the repositories
//! under one name alone, until it ends; without one there is nothing to see. A blob is kept once,
//! however many repositories have it, and is served only by those that it was pushed or mounted to:
//! knowing a digest opens nothing.
//!
//! Only the [`proxy`] listens by itself. The registry knows nothing of steps and pods. It reads no
//! more of a pushed image than its manifest, and never unpacks it.

mod answer;
mod clock;
mod error;
mod manifest;
mod name;
pub mod proxy;
mod publish;
mod route;
mod serve;
mod store;
mod token;
mod uploads;

pub use airside_oci::{Digest, RepositoryName, Tag, TagOrDigest};
pub use answer::RegistryBody;
pub use error::Error;
pub use name::team_repository;
pub use publish::Published;
pub use serve::Registry;
pub use token::{Grant, RepositoryAccess, Tokens};
