//! The server and `airside run`, composed of their parts.
//!
//! Each module of a command has its options (for clap) and a function `run`. The command itself, in
//! `crates/cli/airside`, only tells them apart. There is no logic of a CI in here: a part that
//! needs some belongs in a crate of its own.

pub mod agent;
pub mod colours;
mod data;
mod logging;
pub mod options;
pub mod printing;
mod proofs;
mod pull_secrets;
pub mod run;
pub mod server;
pub mod settings;
pub mod target_source;
pub mod validate;
pub mod worker;
mod workers;

use airside_runtime_local::Rootless;

/// Enters the user namespace in which an ordinary user's steps run. Call it before any thread
/// exists. Where it is not possible all the rest may still be of use, and the worker of this
/// machine says why it takes no steps.
pub fn enter_user_namespace() -> anyhow::Result<()> {
    match Rootless::prepare() {
        Ok(Some(rootless)) => Ok(rootless.enter()?),
        Ok(None) | Err(_) => Ok(()),
    }
}
