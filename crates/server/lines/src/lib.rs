//! Lines of a build's output: any window of them, and those that match, without reading all of the
//! log.
//!
//! ```text
//! log ── once ──▶ index: for each step a checkpoint every thousand lines
//!   └─ from a checkpoint on ──▶ terminal ──▶ window · hits
//! ```
//!
//! The index of a build is made when it is first asked for, in one pass that keeps no text, and
//! grows with the log. It is kept in memory, within a bound of all indexes. A window then costs the
//! reading of some thousand lines, wherever it is.
//!
//! Rows are those of [`airside_terminal`]; the numbers of lines are Concourse's. All work is done
//! on threads for work that blocks, and few at once. The last rows of a step that runs stay in
//! memory: a reader who follows gets them from there.

mod builds;
mod cache;
mod event;
mod find;
mod index;
mod query;
mod window;

pub use builds::{BuildLines, LinesError};
pub use event::PrintedText;
pub use find::{BadCursor, FindCursor, FindHit, FindPart};
pub use index::{BuildSteps, StepLines};
pub use query::{FindQuery, MAX_QUERY_BYTES, QueryError};
pub use window::{LineRange, MAX_WINDOW_BYTES, MAX_WINDOW_LINES, OutputLine, StepWindow};
