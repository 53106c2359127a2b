//! Whole-path tests, and what they stand on: a real server as a child process, the real fly, and
//! helpers to wait, to count and to hold.
//!
//! ```text
//! test ──▶ Fly ──▶ Server (airside up) ──▶ steps ──▶ Counter (in the test)
//!                                                    counts steps, and lets them go on
//! ```
//!
//! Every [`Server`] has a data folder, ports and a fly home of its own, so tests run beside each
//! other and beside anything else on the machine. Nothing here knows what happens inside the
//! server: tests see what a user sees, and the folders that an operator sees.
//!
//! Helpers panic, since a test that cannot go on has failed.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod agent;
mod browser;
mod counter;
pub mod counting_registry;
mod database;
mod dev_tool;
mod environment;
mod fifo;
mod flood;
mod fly;
mod leftovers;
mod mock_image;
pub mod pipelines;
pub mod plans;
mod ports;
mod registry;
mod run;
mod same;
pub mod secrecy;
mod server;
mod tls_front;
mod transcript;
mod wait;

pub use agent::Agent;
pub use browser::Browser;
pub use counter::Counter;
pub use database::{Database, OwnPostgres};
pub use dev_tool::{ask_cluster, start_tool};
pub use environment::Environment;
pub use fifo::Fifo;
pub use flood::Flood;
pub use fly::{ANEW, Background, Build, Fly, Output};
pub use mock_image::mock_image;
pub use registry::{Registry, describe_image, layout, type_layout, type_rootfs};
pub use run::{Run, Running};
pub use same::assert_same_text;
pub use server::{Server, ServerOptions};
pub use tls_front::TlsFront;
pub use transcript::Transcript;
pub use wait::{WAIT_TIMEOUT, wait_for, wait_for_glimpse, wait_until};
