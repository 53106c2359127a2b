//! The agent on each node of a cluster: one DaemonSet, the same binary as the server or a small one
//! of its own.
//!
//! ```text
//! kubelet ──▶ localhost:PORT of its node ──▶ agent ──▶ the server's registry
//! ImageSets of the cluster ──▶ agent ──▶ the node's container runtime
//! ```
//!
//! It has three parts, and each does without the others. Container runtimes pull without TLS from
//! loopback alone, so each node gets the server's registry there ([`serve`]): the agent passes
//! requests on, the login included; a caller can do what its token allows, and nothing without one.
//! Images that sets want are kept on the node ([`keep`]). And containerd gets images of mirrored
//! registries from the mirror and from other nodes ([`airside_mirror::node`]). The agent knows
//! nothing of builds.

mod images;
mod options;
mod run;

pub use airside_containerd::ContainerdError;
pub use airside_registry::proxy::{Upstream, UpstreamError, serve};
pub use airside_serve::{Authorities, AuthoritiesError};
pub use images::{NodeAgentError, OperatorClient, Settings, Task, keep};
pub use options::{ImageOptions, Missing};
pub use run::{NodeError, NodeOptions};

/// The mirror's half of the agent, on the command line and in the DaemonSet.
pub mod mirror {
    mod options;

    pub use airside_mirror::node::{MIRROR_USED, PEERS_AUDIENCE};

    pub use self::options::MirrorOptions;
}
