//! Checks of native resource types, questions for images' documents, and looks at tenants' secret
//! managers, outside the server.
//!
//! The server never connects to an address that a tenant chose. A *checker* does: a process of the same
//! program, one for each team, that can see nothing of the server and little of the machine.
//!
//! ```text
//! Checkers ── joins equal checks ──▶ Team ── starts, replaces, ends ──▶ Process ══ pipes ══▶ serve
//!                                                                                     (confined, threads)
//! ```
//!
//! - [`Checkers`] is the handle: ask it to check, get versions or a [`Failure`];
//! - `team` has one current process, started when somebody asks and ended when nobody has for a while;
//! - `process` is one of them as the server sees it, [`serve`] the same from inside;
//! - `sandbox` is what the process gives up before it reads its first request;
//! - `wire` is what both sides say.
//!
//! **Invariants:** a request holds all that the checker learns of it; a checker that dies takes no more
//! with it than its team's checks in flight; nothing a checker says can make the server use more than a
//! bounded amount of memory for each check. *Absent:* when to check, where versions go, types with images.

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

/// Whether an answer may come from a check that began before this one was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// One that is under way will do.
    Shared,
    /// Something changed just now: only a look after this moment counts.
    FromNow,
}

/// A look at one path of a secret manager that a tenant named. The settings have their variables filled in.
#[derive(Clone)]
pub struct Look {
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

/// What a secret manager said.
pub type Said = Result<Option<airside_secret_managers::Secret>, airside_secret_managers::Error>;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Oldest first.
    pub versions: Vec<Version>,
    /// What the type had to say on the way.
    pub output: String,
}
