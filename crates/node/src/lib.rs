//! The agent on each node of a cluster: one DaemonSet, the same binary as the server.
//!
//! ```text
//! kubelet ──▶ localhost:PORT of its node ──▶ agent ──▶ the server's registry
//! ```
//!
//! Container runtimes pull without TLS from loopback alone, so each node gets the registry there. The agent passes on what
//! it is given, the login included, and has no right of its own: whoever reaches it can do what their token allows, and
//! nothing without one. It knows nothing of builds, and asks no API server anything.

#![forbid(unsafe_code)]

mod manifest;
mod proxy;
mod upstream;

pub use manifest::{Agent, AgentError};
pub use proxy::serve;
pub use upstream::{Upstream, UpstreamError};
