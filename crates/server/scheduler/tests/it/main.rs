//! The driver over a real database; builds are run by a stand-in that ends them as it is told.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and sizes are printed"
)]

mod chain;
mod crash;
mod rules;
mod scale;
mod stage;
