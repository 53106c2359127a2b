//! Pushes changes of pipelines, jobs, builds and workers to browsers, to each reader what it may
//! see.
//!
//! ```text
//! store's changes ─▶ marks ─▶ needs ─▶ one statement a topic ─▶ patches ─▶ outboxes ─▶ readers
//! ```
//!
//! [`Live`] reads only what is followed, at most every 100 ms, and renders a patch once for all who
//! see the same. A reader that is slow gets its topics whole instead of patches. The board, with
//! topics, patches and outboxes, is pure; this crate's I/O is in `service` and `reader`.
//!
//! A reader gets `hello`, then for each topic its `state`, and from then on `patch` (what changed),
//! `part` (what a page is to fetch again), `denied` or `gone` (silence from now on), and `beat`.
//! The id of an event promises that all before it came: a reader that comes back names the last.
//!
//! *Absent:* HTTP, and the judge of who may see a topic: both are in `airside-api`.

mod board;
mod dashboard;
mod fields;
mod item;
mod journal;
mod marks;
mod outbox;
mod part;
mod patch;
mod reader;
mod rights;
mod service;
mod topic;

pub use reader::{LiveReader, LiveStep};
pub use rights::{LiveSight, ReaderRights, TopicAccess, TopicVerdict};
pub use service::Live;
pub use topic::{BadTopics, LivePosition, LiveRequest, LiveTopic, MAX_TOPICS};
