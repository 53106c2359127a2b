//! The collector's queries: the rows that are garbage, and their removal.
//!
//! Each query finds a bounded number of rows through an index, and each deletion is a transaction
//! of its own, so that no request ever waits long for one. `airside-gc` decides when rows are
//! garbage and in which order they go; the rules here only say which may never go.

mod builds;
mod caches;
mod destroyed;
mod leftovers;
mod space;

pub use builds::{Logged, LoggedOf, RetainedJob};
pub use caches::{Cold, ColdCache};
pub use destroyed::Destroyed;

#[cfg(test)]
mod tests;
