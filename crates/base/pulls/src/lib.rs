//! The progress of an image's pull: the numbers that cross processes and machines, and the lines
//! that people read in a build's log.
//!
//! [`PullProgress`] is counted where an image is fetched or unpacked. [`PullReport`] makes a
//! bounded number of lines of it. **Invariant:** numbers from another process are
//! [bounded](PullProgress::bounded) before they are used. *Absent:* clocks, and the pull itself.

mod name;
mod progress;
mod report;

pub use self::{
    name::shown_name,
    progress::{PullProgress, PullStage},
    report::{MAX_LINES, PullReport, rate},
};
