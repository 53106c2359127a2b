//! `kubernetes`: creates any object of a cluster, follows it to its end, and finds finished ones.
//!
//! `access` and `kubeconfig` say where the API server is and who asks, `api` makes the requests,
//! `kinds` and `discovery` make paths of kinds. A put reads `manifests`, asks by `review` whether
//! it may, runs `apply`, waits in `wait` (with `watch` and `follow` in threads), and ends with
//! `prune`; `abort` cleans up when the build is aborted. Whether an object is done is judged by
//! the crate `object-status`.

mod abort;
mod access;
mod api;
mod apply;
mod check;
mod discovery;
mod follow;
mod get;
mod kinds;
mod kubeconfig;
mod manifests;
mod names;
mod prune;
mod put;
mod review;
mod settings;
mod version;
mod wait;
mod watch;
mod yaml_text;

pub(crate) use self::{
    access::trust_service_account, check::check, get::fetch, put::push, settings::FORMS,
};
