//! The Kubernetes objects of the image system, as `airside images install` prints them.
//!
//! ```text
//! OperatorInstall  AdmissionInstall  MirrorInstall  NodeAgentInstall  RegistryAgentInstall
//!        └──────────────┴─────────────────┴───────────────┴──────────────────┘
//!                                         │ check what the user gave
//!                                         ▼
//!                              Manifest of typed objects ──▶ YAML
//! ```
//!
//! Each type has the choices that an administrator has about one program, and makes the objects
//! that this program needs: its account and rights, its workload, its Service, its policies. The
//! programs themselves know nothing of this crate; it takes ports, paths and names from them, so
//! that an installation cannot differ from its program.

mod admission;
mod check;
mod definitions;
mod mirror;
mod node_agent;
mod operator;
mod placement_policy;
mod policies;
mod registry_agent;
mod services;
mod trust;

pub use admission::AdmissionInstall;
pub use check::InstallError;
pub use definitions::definitions;
pub use mirror::{MirrorBucket, MirrorInstall};
pub use node_agent::{NodeAgentInstall, NodeMirrorInstall, NodeRegistryPort};
pub use operator::OperatorInstall;
pub use placement_policy::placement_policy;
pub use registry_agent::RegistryAgentInstall;

#[cfg(test)]
mod tests;
