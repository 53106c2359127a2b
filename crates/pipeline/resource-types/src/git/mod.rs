//! `git`: the commits of a repository, by the git program.
//!
//! Each action has a private home for git, ssh and gpg, with keys and credentials in files that are
//! removed with it; nothing secret is on a command line or stays in an artifact. The actions are in
//! `check`, `get` and `put`; `command`, `home` and `config` run git. git never runs inside a
//! repository that a task made: `artifact` takes its commits and references, and nothing that git
//! could run.

mod access;
mod all_tags;
mod artifact;
mod branches;
mod check;
mod checkout;
mod command;
mod config;
mod files;
mod get;
mod home;
mod metadata;
mod mirror;
mod push_end;
mod put;
mod remote;
mod settings;
mod submodules;
mod tags;
mod tunnel;
mod verify;

pub use self::checkout::{AskCheckout, checkout_files};
pub(crate) use self::{
    access::{Access, Setting, Tunnel},
    check::check,
    command::Git,
    config::Purpose,
    get::fetch,
    push_end::PushEnd,
    put::push,
    settings::FORMS,
    tunnel::main as tunnel,
};
