//! Pipelines, jobs and builds as objects of clusters, for installations that want them.
//!
//! ```text
//! file       control.yml                          → clusters and their teams
//! rights     what the server may, and people      (pure)
//! install    definitions, roles, the policy       → Manifest
//! control    the handle: a link for each team, followed as the file changes
//! judge      a dry run of a pipeline's object     → allowed, or the cluster's words
//! team       one team's loop: a pass looks at objects and store, and acts on what differs
//! ├ set      an object with a configuration       → a pipeline
//! ├ trigger  an object without a build            → a build, once; abort
//! ├ gone     an object that is gone               → its deletion policy
//! └ mirror   pipelines, jobs, builds of the store → objects, bounded
//! ```
//!
//! **Invariants:** nothing here is on the path of a build, and nothing is lost if the cluster is
//! away: every pass compares objects and store anew. A namespace speaks for the one team that the
//! control file names, whatever an object says. No secret leaves the server: a dry run carries
//! facts. *Absent:* how a pipeline is set (`airside-setting`), and running builds.

mod builds;
mod control;
pub mod file;
mod gone;
mod install;
mod judge;
mod link;
mod mirror;
mod preflight;
mod rights;
mod set;
mod team;
mod trigger;
mod urls;

pub use builds::ObjectBuilds;
pub use control::{Control, ControlError, ControlParts};
pub use file::{ControlCluster, ControlFileError, ControlTeam};
pub use gone::DELETION_GRACE;
pub use install::ControlInstall;
pub use rights::{CONTROL_RIGHTS, ControlRight};

/// Returns the time in whole seconds, as times of objects are.
fn now() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}
