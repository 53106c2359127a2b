//! The pulls of the whole cluster: who may pull now, and with which login.
//!
//! ```text
//! an agent ──POST, its token──▶ server ──▶ review: which node ──▶ belongs: do sets want it there ──▶ permits ──▶ logins
//! ```

mod belongs;
mod permits;
mod review;
mod server;

pub(crate) use self::{permits::Permits, review::Reviewer, server::Server};
