//! Checks of native resource types, questions for images' documents, and lookups in tenants' secret
//! managers, outside the server.
//!
//! The server never connects to an address that a tenant chose. A *checker* does: a process of the
//! same program, one for each team, that can see nothing of the server and little of the machine.
//!
//! ```text
//! Checkers ── joins equal checks ──▶ Team ── starts, replaces, ends ──▶ Process ══ pipes ══▶ serve
//!                                                                            (confined, threads)
//! ```
//!
//! - [`Checkers`] is the handle: it runs a check, and returns versions or a [`Failure`];
//! - `team` has one current process, started by a request and ended after a while without any;
//! - `process` is one of them as the server sees it, [`serve`] is the process from inside;
//! - `sandbox` is what the process gives up before it reads its first request;
//! - `wire` is the messages of both sides.
//!
//! **Invariants:** a request holds all that the checker learns of it; a checker that dies takes no
//! more with it than its team's checks in flight; nothing a checker says can make the server use
//! more than a bounded amount of memory for each check. *Absent:* when to check, where versions go,
//! types with images.

mod checkers;
mod failure;
mod lines;
mod process;
mod sandbox;
mod scratch;
pub mod serve;
mod share;
mod team;
mod wire;

pub use checkers::{Checkers, Options};
pub use failure::Failure;
pub use share::Sharing;

use std::time::Duration;

use airside_model::Version;
use serde_json::{Map, Value};

/// One check of a native type. The source has its variables filled in.
#[derive(Clone, Debug)]
pub struct Check {
    pub team: String,
    pub type_: String,
    pub source: Map<String, Value>,
    pub from: Option<Version>,
    pub timeout: Duration,
    pub freshness: Freshness,
}

/// True if an equal check that is under way may answer this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A check that is under way is enough.
    Shared,
    /// Something changed just now: only a check that begins after this moment counts.
    FromNow,
}

/// A lookup of one path of a secret manager that a tenant named. The settings have their variables
/// filled in.
#[derive(Clone)]
pub struct SecretLookup {
    pub team: String,
    pub type_: String,
    pub config: Value,
    pub path: String,
    pub timeout: Duration,
}

/// A question for the documents of an image in a registry. The source has its variables filled in.
#[derive(Clone)]
pub struct ImageQuestion {
    pub team: String,
    pub source: Map<String, Value>,
    /// A tag or a digest.
    pub reference: String,
    pub timeout: Duration,
}

/// The answer of a secret manager.
pub type SecretAnswer =
    Result<Option<airside_secret_managers::Secret>, airside_secret_managers::Error>;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Versions, oldest first.
    pub versions: Vec<Version>,
    /// Output of the type on the way.
    pub output: String,
}
