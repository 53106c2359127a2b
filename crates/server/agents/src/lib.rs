//! Other machines as workers: both ends of the line between a server and its agents.
//!
//! An agent may stand where nobody can dial it. So it dials the hub, shows its token and is asked over that connection
//! what a runtime is asked: to place, to destroy, to list; what its runtime observes it says by itself.
//!
//! ```text
//! server                                        the other machine
//! orchestrator ─▶ AgentRuntime ─▶ line ◀─TLS─ link ─▶ a runtime (the local one) ─▶ containers
//!                                    hub ◀─TCP─ relay ◀─── a socket ◀───────────────── shims
//! ```
//!
//! Shims are reached as everywhere: they dial the hub, here through the agent's socket and the relay behind it, which
//! passes on bytes that it cannot read. Volumes travel over the shims' own connections. So nothing of a step depends on
//! the agent's process: it can be killed and started again, and shims dial until it is back.
//!
//! **Invariant:** an agent is the worker that its token names, for the team and the tags that its token names, whatever
//! it says of itself. *Absent:* how containers are made, and which worker gets a step.

#![forbid(unsafe_code)]

pub mod machine;
mod message;
pub mod server;

pub use message::{AgentSays, Answer, Ask, ServerSays};
