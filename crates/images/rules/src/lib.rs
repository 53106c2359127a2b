//! Images on nodes: the custom resources that declare them, and the rules of every program that
//! acts on them.
//!
//! An [`ImageSet`] declares which images belong on which nodes; [`NodeImages`] reports what one
//! node has. The operator, the node agents and admission use the functions of this crate, so that
//! they cannot disagree about what a name means ([`airside_oci::Reference`]), how a node is
//! labelled ([`label`]), which nodes a set selects ([`selection`]), what a node does next
//! ([`plan`]) and where a pod goes ([`placement`]). The functions are pure: no I/O, no clock.

mod definitions;
#[expect(
    unreachable_pub,
    reason = "the derive for rules makes a copy of each struct within a function"
)]
mod image_set;
pub mod label;
mod node_images;
pub mod placement;
pub mod plan;
mod pulls;
pub mod selection;

pub use definitions::definitions;
pub use image_set::*;
pub use node_images::*;
pub use pulls::*;

/// Name of the node agents' DaemonSet and account, and their name as a field manager.
pub const NODE_AGENT: &str = "airside-node";

#[cfg(test)]
mod tests;
