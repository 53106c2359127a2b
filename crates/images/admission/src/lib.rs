//! Admission for pods that use images of sets: it answers from memory where they go.
//!
//! ```text
//! ImageSets, labels of nodes ──▶ watch ──▶ View ──▶ review: request of API server ──▶ JSON patch
//!                                           └────▶ gates: pods that wait are released
//! ```
//!
//! The changes to a pod are decided by `airside_image_rules::placement`; this crate serves them to
//! the API server and keeps their inputs up to date. It reads no secret but its own certificate,
//! and asks no registry. Where it fails, pods start as if it were absent.

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
/// Label of objects and namespaces: with `true` their templates are placed, with `false` their pods
/// are left alone.
pub const PLACE: &str = "images.airside.dev/place";
