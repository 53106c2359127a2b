//! The messages between a shim and the hub.
//!
//! A shim keeps one *control* connection for the life of its step and opens one more for each
//! volume it fetches or uploads, and for each hijack: a person's process beside the step's own.
//! Every connection is TLS and carries frames ([`codec`]).
//!
//! ```text
//! control   shim → Claim            hub → Claimed | Refused
//!           shim → Started, Output…, Finished, Heartbeat
//!           hub  → Ack, Stop, Committed, Exit, Hijack, Heartbeat
//! volume    shim → Fetch            hub → Begin, chunks…, End | Refused
//!           shim → Upload           hub → Begin | Stored | Refused
//!           shim → chunks…, End     hub → Stored | Refused
//! hijack    shim → Answer           hub → Begin | Refused
//!           shim → Started, Output…, Finished, Heartbeat
//!           hub  → chunks… (stdin), CloseInput, Resize, Heartbeat; its end kills the process
//! agent     agent → Join            hub → Welcome | Refused; the rest: crate `runtime-remote`
//! ```
//!
//! Nothing here ties a shim to its step before it claims: a waiting shim could claim any.

mod agent;
pub mod codec;
mod message;
pub mod pin;
mod probe;
mod socket;

use std::time::Duration;

pub use agent::{AgentArrival, AgentToken, BadAgentToken, Join, is_agent_name};
pub use message::*;
pub use probe::{Ids, Overlay, Probe};
pub use socket::bind_hub_socket;

/// Longest time for which a side of a connection sends nothing.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// Time of silence after which a peer counts as gone: three heartbeats.
pub const SILENCE: Duration = Duration::from_secs(15);

/// Raised when an old shim and a new hub (or the reverse) could misunderstand each other.
///
/// 2: the hub may say `Hijack`. 3: an order may have an `image`.
pub const PROTOCOL: u32 = 3;

/// Shims from this one on are welcome, so that steps outlive an upgrade of the server.
pub const OLDEST_PROTOCOL: u32 = 1;

/// The first in which the hub may say `Hijack`.
pub const HIJACK_PROTOCOL: u32 = 2;

/// The first in which an order may have an `image`.
pub const IMAGE_PROTOCOL: u32 = 3;

/// Raised when an agent and a server could misunderstand each other.
pub const AGENT_PROTOCOL: u32 = 1;

/// Agents from this one on are welcome, so that servers can be upgraded before their agents.
pub const OLDEST_AGENT_PROTOCOL: u32 = 1;

/// Path with which a guest runs the shim's own program: the kernel shows a process its binary
/// there, whatever became of the binary's own path.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Names of the environment variables by which a shim gets the address for its claim from a
/// runtime. The shim removes every one of them before it runs anything.
pub mod env {
    /// `host:port` of the hub, or `unix:` and the path of its socket, as seen from the step.
    pub const HUB: &str = "AIRSIDE_HUB";
    /// Hex SHA-256 of the hub's public key (SubjectPublicKeyInfo, DER).
    pub const HUB_PIN: &str = "AIRSIDE_HUB_PIN";
    /// The handle this shim was placed under.
    pub const HANDLE: &str = "AIRSIDE_HANDLE";
    /// The claim's token.
    pub const TOKEN: &str = "AIRSIDE_TOKEN";
    /// A file with a further proof of identity (on Kubernetes a projected service-account token).
    pub const PROOF_FILE: &str = "AIRSIDE_PROOF_FILE";
    /// Folder for the output spool; `/.airside` unless set.
    pub const STATE: &str = "AIRSIDE_STATE";
    /// An empty folder in which the shim may put together the root file system that an order's
    /// image is. `/` means that the container was started in that image. Without it the shim stays
    /// in the one it was started in.
    pub const ROOT: &str = "AIRSIDE_ROOT";
    /// Capabilities that the process may ever have: a hexadecimal mask, as the kernel counts them.
    /// The shim itself may have more. Without it, the process may have those of the shim.
    pub const TASK_CAPABILITIES: &str = "AIRSIDE_TASK_CAPABILITIES";
    /// `default`: the shim filters the process's system calls.
    pub const TASK_SECCOMP: &str = "AIRSIDE_TASK_SECCOMP";
    /// The user of the image that the container was started in, as the image has it
    /// (`user[:group]`). The process is that user's where its order names none.
    pub const IMAGE_USER: &str = "AIRSIDE_IMAGE_USER";
    /// `held`: another mechanism keeps hermetic processes off the network, and the shim need not.
    pub const NETWORK: &str = "AIRSIDE_NETWORK";
}
