//! The agent on each node of a cluster: one DaemonSet, the same binary as the server or a small one of its own.
//!
//! ```text
//! kubelet ──▶ localhost:PORT of its node ──▶ agent ──▶ the server's registry
//! ImageSets of the cluster ──▶ agent ──▶ the node's container runtime
//! ```
//!
//! It has two parts, and either does without the other. Container runtimes pull without TLS from loopback alone, so each
//! node gets the registry there ([`serve`]): the agent passes on what it is given, the login included; whoever reaches it
//! can do what their token allows, and nothing without one. And images that sets want are kept on the node ([`keep`]).
//! It knows nothing of builds.

#![forbid(unsafe_code)]

mod images;
pub mod mirror;
mod options;
mod proxy;
mod run;
mod runtime;
mod upstream;

pub use airside_mirror::{Authorities, AuthoritiesError};
pub use images::{AgentError, Operator, Settings, Task, keep};
pub use options::{ImageOptions, Missing};
pub use proxy::serve;
pub use run::{NodeError, NodeOptions};
pub use runtime::RuntimeError;
pub use upstream::{Upstream, UpstreamError};
