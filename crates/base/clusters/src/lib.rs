//! Connections to Kubernetes clusters, for every program that has one.
//!
//! ```text
//! access   the fields of a file's entry → a client; no request is made
//! rate     a limit on the client's requests per second
//! follow   a watch whose objects are kept in memory
//! ```
//!
//! *Absent:* what the objects mean.

mod access;
mod follow;
mod rate;

pub use access::{AccessMistake, ClusterAccess, ConnectError};
pub use follow::follow;
pub use rate::{Rate, RateLayer};
