//! The engine over a runtime of the test and a real store, hub and log. The containers are tasks
//! that speak the shim's protocol to the hub, and outlive the servers of a test.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod errors;
mod hooks;
mod panics;
mod plans;
mod resume;
mod scripted;
mod server;
mod set_pipeline;
mod timeouts;
#[path = "../../../hub/tests/faults/stand/tls.rs"]
mod tls;
mod ways;

use std::time::Duration;

// For `tls`, which the hub's tests share.
use rustls as _;

/// Timeout of anything that a test waits for, however busy the machine is.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs a test on threads with the stack that the server's have: plans nest as deeply as their
/// authors like.
fn on_large_stacks(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.thread_stack_size(16 << 20).enable_all().build();
    runtime.unwrap().block_on(test);
}
