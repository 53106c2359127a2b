//! The pulls of the whole cluster: which agent may pull now, and with which login.
//!
//! ```text
//! agent ─POST, token─▶ server ─▶ review (its node) ─▶ belongs (the sets) ─▶ permits ─▶ logins
//! ```

mod belongs;
mod permits;
mod review;
mod server;

pub(crate) use self::{permits::Permits, review::Reviewer, server::Server};
