//! The web UI: pages, drawn by `airside-ui` from what the store has.
//!
//! ```text
//! request ─▶ guard (as the API's) ─▶ handler ─▶ view ─▶ page in its shell, or its parts (`?part=`)
//! ```
//!
//! A page shows what the API would answer to its viewer, and no more. What changes something is a
//! request to the API that `fly` uses, made by a module of the page.

mod assets;
pub(crate) mod build;
pub(crate) mod builds;
pub(crate) mod causality;
pub(crate) mod dashboard;
pub(crate) mod download;
pub(crate) mod go;
pub(crate) mod job;
mod links;
mod offer;
mod paging;
pub(crate) mod pipeline;
mod place;
mod request;
pub(crate) mod resource;
mod side;
pub(crate) mod teams;
mod visit;
pub(crate) mod workers;

pub(crate) use assets::assets;
pub(crate) use request::PageRequest;
pub(crate) use visit::{PageVisit, login_url, unknown};

/// Rights of a page: its own files, and nothing that is written into it.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types airside-fragment airside-worker";
