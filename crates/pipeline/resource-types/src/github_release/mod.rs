//! `github-release`: the releases of a GitHub repository and their assets.
//!
//! `release` is what GitHub says of a release, `tags` reads versions from tags, `api` makes the
//! requests, `answers` explains a refusal. The actions are in `check`, `get` and `put`.

mod answers;
mod api;
mod check;
mod get;
mod put;
mod release;
mod settings;
mod tags;

pub(crate) use self::{check::check, get::fetch, put::push, settings::FORMS};
