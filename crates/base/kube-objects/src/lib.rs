//! Kubernetes objects as values of `k8s-openapi`, and the one writer that prints them for
//! `kubectl apply`.
//!
//! ```text
//! meta, pod, rbac (shared pieces) ──▶ objects of a crate ──▶ Manifest ──▶ YAML
//! ```
//!
//! A crate that prints objects fills the types of `k8s-openapi` with the pieces of this crate and
//! collects them in a [`Manifest`]. No crate writes YAML by formatting text: a value that comes
//! from a user cannot break out of its field. This crate talks to no cluster.

mod manifest;
pub mod meta;
mod names;
pub mod pod;
pub mod rbac;
pub mod schema;

pub use manifest::{Manifest, WriteError};
pub use names::{is_image_name, is_object_name};

/// Airside's own image in every manifest, unless the user names another.
///
/// It has the version of the program that prints it. No public registry answers for its host:
/// nodes have the image already, or a pod fails instead of running an image of a stranger.
pub const DEFAULT_IMAGE: &str = concat!("airside.local/airside:", env!("CARGO_PKG_VERSION"));

/// The shim's image in the pods of steps, unless the target names another: the one that `dev/image
/// shim` writes.
pub const DEFAULT_SHIM_IMAGE: &str = "airside.local/shim:dev";

/// Returns owned copies of texts, as the types of `k8s-openapi` want them.
pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
