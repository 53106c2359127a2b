//! A mirror of registries: content is fetched once, kept byte by byte, and served to nodes.
//!
//! ```text
//! /v2/NAME/…?ns=HOST ──▶ serve ──▶ asked (which thing of which registry)
//!                          │
//!                          ├──▶ access (callers that the registry serves) ──▶ upstream ──▶ client
//!                          ├──▶ flight (fetched once, served while it comes) ──▶ upstream
//!                          └──▶ storage (kept content)
//! ```
//!
//! **Invariants:** a mirror never widens access: a caller gets what the registry itself would give
//! to the same login, and knowing a digest opens nothing. Bytes are never changed, and are stored
//! only once they have the digest they were asked for by. The mirror has no login of its own. It
//! listens only on the address that it is given, and pushes nothing.

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
pub mod node;
mod place;
mod s3;
mod serve;
mod sets;
mod storage;
mod upstream;
mod upstreams;

pub use access::{AccessAnswer, Caller, UpstreamAccess};
pub use ahead::{Ahead, AheadError};
pub use airside_serve::{Authorities, AuthoritiesError};
pub use answer::{MirrorAnswer, MirrorBody, failure, refusal};
pub use asked::{AskedThing, NotAsked, What};
pub use client::{Away, Client};
pub use collect::{CollectRules, Collected};
pub use folder::Folder;
pub use kube::Client as Cluster;
pub use listen::serve;
pub use place::{BadStoragePlace, StoragePlace};
pub use s3::{BucketSettings, S3};
pub use serve::Mirror;
pub use storage::{KeptContent, Note, NoteName, Noted, Storage};
pub use upstream::{Reply, Upstream};
pub use upstreams::{BadUpstream, Registries, Registry};
