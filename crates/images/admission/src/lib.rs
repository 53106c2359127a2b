//! Admission for pods that use images kept on nodes: answers from memory where they go.
//!
//! ```text
//! ImageSets, labels of nodes ──▶ watch ──▶ View ──▶ review: what the API server asks ──▶ a JSON patch
//!                                           └────▶ gates: pods that wait are let go
//! ```
//!
//! What changes in a pod is decided by `image_sets::placement`; this serves it to the API server and keeps what it is
//! decided by up to date. It reads no secret but its own certificate, and asks no registry anything. Where it fails, pods
//! start as if it were not there.

#![forbid(unsafe_code)]

mod events;
mod gates;
mod hook;
mod kept;
#[cfg(test)]
mod many;
mod review;
mod rewrite;
mod run;
mod serve;
mod template;
mod view;
mod watch;
mod workloads;

pub use review::{ReviewError, Rules, answer};
pub use rewrite::{BadHost, Rewrite};
pub use run::{RunError, Settings, run};
pub use serve::{READY_PATH, REVIEW_PATH};
pub use view::View;

/// Name of admission's Deployment, Service, account and webhooks, and its name as a field manager.
pub const NAME: &str = "airside-images-admission";
/// Secret with the certificates of admission's own Service.
pub const CERTS_SECRET: &str = "airside-images-admission-tls";
/// Objects and namespaces with `true` have their templates placed; with `false`, pods are left alone.
pub const PLACE: &str = "images.airside.dev/place";
