//! Images on nodes: the custom resources that declare them, and the rules by which everybody else acts.
//!
//! An [`ImageSet`] says which images belong on which nodes; [`NodeImages`] says what one node has. The controller, the
//! node agents and admission use the functions here, so that none of them has an opinion of its own about what a name
//! means ([`airside_oci::Reference`]), how a node is labelled ([`label`]), which nodes are meant ([`selection`]), what a node does
//! next ([`plan`]) and where a pod goes ([`placement`]). Nothing here talks to anything or reads a clock.

mod definitions;
#[expect(
    unreachable_pub,
    reason = "the derive for rules makes a copy of each struct within a function"
)]
mod image_set;
mod install;
pub mod label;
mod node_images;
pub mod placement;
pub mod plan;
mod pulls;
pub mod selection;

pub use definitions::definitions;
pub use image_set::*;
pub use install::{
    TRUST_CONFIG_MAP, TRUST_FILE, is_object_name, is_plain_word, trust_mount, trust_volume,
};
pub use node_images::*;
pub use pulls::*;

#[cfg(test)]
mod tests;
