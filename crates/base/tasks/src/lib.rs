//! Starts every task of the server and of the programs beside it.
//!
//! A panic ends the one task it happens in. It is logged once, with the task's name, and counted
//! under that name ([`panics()`], which `airside-telemetry` shows). There are six ways to run
//! something:
//!
//! | function | what a panic does |
//! |---|---|
//! | [`spawn`] | ends the task |
//! | [`named`] | ends the future; for `JoinSet` and `TaskTracker`, whose `spawn` takes it |
//! | [`caught()`] | becomes an error that the caller handles: the build or request ends in words |
//! | [`blocking`] | becomes an error that the caller handles; for work that blocks its thread |
//! | [`supervise()`] | starts the loop again; three within a minute stop the program in order |
//! | [`restart`] | starts the loop again, however often |
//!
//! The test `tasks` of `airside-tidy` forbids other ways to start a task.
//!
//! *Absent:* what the tasks do.

mod caught;
mod panics;
mod strikes;
mod supervise;

pub use self::{
    caught::{Panicked, blocking, caught, named, spawn},
    panics::{log_panics, panics},
    supervise::{GaveUp, restart, supervise, verdict},
};
