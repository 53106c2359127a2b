//! The control of a team over a real store, against an API server of the test's own.

#![allow(clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod budget;
mod builds;
mod cluster;
mod gone;
mod judging;
mod outage;
mod pipelines;
mod places;
mod stage;
