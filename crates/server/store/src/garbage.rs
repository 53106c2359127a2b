//! What the collector asks and does: which rows nobody needs any more, and their end.
//!
//! Each question finds a bounded number of rows through an index, and each deletion is a transaction of
//! its own, so that no request ever waits long for one. When anything is garbage, and in which order it
//! goes, is decided by `airside-collector`; the rules here only say what may never go.

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
