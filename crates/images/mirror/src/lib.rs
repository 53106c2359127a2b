//! A registry that has what others have: fetched once, kept byte by byte, and served to nodes.
//!
//! ```text
//! /v2/NAME/…?ns=HOST ──▶ serve ──▶ asked (which thing of which registry)
//!                          │
//!                          ├──▶ access (whom that registry serves) ──▶ upstream ──▶ client
//!                          ├──▶ flight (fetched once, served while it comes) ──▶ upstream
//!                          └──▶ storage (what is kept)
//! ```
//!
//! **Invariants:** a mirror never widens access: whoever asks gets what the registry itself would give to the same login, and
//! to know a digest opens nothing. Bytes stay as they are and become part of the storage only once they have the digest they
//! were asked for by. The mirror has no login of its own. Nothing here listens by itself or pushes anything anywhere.

#![forbid(unsafe_code)]

mod access;
mod ahead;
mod answer;
mod asked;
mod client;
mod clock;
mod collect;
mod flight;
mod folder;
mod listen;
mod manifest;
pub mod node;
mod place;
mod s3;
mod serve;
mod sets;
mod storage;
mod upstream;
mod upstreams;

pub use access::{Access, Caller, Verdict};
pub use ahead::{Ahead, AheadError};
pub use airside_serve::{Authorities, AuthoritiesError};
pub use answer::{Answer, Body, failure, refusal};
pub use asked::{Asked, NotAsked, What};
pub use client::{Away, Client};
pub use collect::{CollectRules, Collected};
pub use folder::Folder;
pub use kube::Client as Cluster;
pub use listen::serve;
pub use manifest::{Deployment, DeploymentError, Shared};
pub use place::{BadPlace, Place};
pub use s3::{BucketSettings, S3};
pub use serve::Mirror;
pub use storage::{Kept, Note, NoteName, Noted, Storage};
pub use upstream::{Reply, Upstream};
pub use upstreams::{BadUpstream, Registries, Registry};
