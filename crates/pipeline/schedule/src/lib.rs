//! The scheduler's judgement: which versions a job's next build gets, which builds may start, which
//! jobs an event concerns, which resources are due for a check, and the reason wherever the answer
//! is no.
//!
//! ```text
//! config ─▶ Graph ──────────────┐
//!                               ▼
//! store ◀─ Question ─ View ─▶ Resolver ─▶ Resolution ─▶ pass ─▶ actions
//!   └────── StoreAnswer ──▶ ▲                      └───────▶ preparation
//!                      │
//! events ── Change ────┘        Event ─▶ Graph::affected_jobs ─▶ jobs
//! ```
//!
//! - [`graph`] is a pipeline as the scheduler sees it, `passed` patterns resolved;
//! - [`history`] has what may be asked about versions and builds; [`View`] answers from memory, and
//!   where it does not know it hands back the [`Question`] for the store to answer;
//! - [`mod@resolve`] picks versions; [`pass`] decides about a job's pending builds; [`preparation`]
//!   says why one of them waits; [`checks`] says when a resource is due.
//!
//! **Invariants:** no I/O, no clock (time comes in as [`Moment`]), no async; every question is
//! answered by a bounded number of rows from one index. *Absent:* plans, credentials, texts of
//! versions other than pins.

pub mod checks;
mod events;
pub mod graph;
pub mod history;
mod moment;
mod names;
pub mod pass;
pub mod preparation;
mod question;
pub mod resolve;
mod view;

pub use events::Event;
pub use graph::Graph;
pub use history::{BuildKey, Carried, History, Order};
pub use moment::Moment;
pub use names::{NameId, Names};
pub use question::{PAGE, Question, StoreAnswer, Used, WrongAnswer};
pub use resolve::{Reason, Resolution, Resolver, resolve};
pub use view::{Change, ChangeTicket, Learnt, View};
