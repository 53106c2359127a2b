//! `pool`: locks that are files of a git repository, claimed by a push.
//!
//! A lock lies in the folder `claimed` or `unclaimed` of its pool. `locks` decides what an action
//! changes, `repository` reads and writes commits without ever checking one out, so that nothing in
//! a repository runs or leads anywhere. The actions are in `check`, `get` and `put`.

mod check;
mod get;
mod locks;
mod put;
mod repository;
mod settings;

use airside_model::MetadataField;

pub(crate) use self::{check::check, get::fetch, put::push, settings::FORMS};

const REF: &str = "ref";

fn metadata(lock: Option<&str>, pool: &str) -> Vec<MetadataField> {
    let field = |name: &str, value: &str| MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let lock = lock.map(|lock| field("lock_name", lock));
    lock.into_iter().chain([field("pool_name", pool)]).collect()
}
