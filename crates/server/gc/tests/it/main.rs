//! The collector over a real store, real logs and real volumes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test that cannot go on fails"
)]

mod destroyed;
mod disk;
mod history;
mod stage;
