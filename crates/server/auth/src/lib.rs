//! Authentication and authorization of users.
//!
//! [`Auth`] turns a name and password, or an [`Identity`] that a connector vouches for, into a
//! token and a token into a [`Principal`]; [`Action`] is the one table that says what each route
//! needs, and [`authorize()`] the one function that decides. Nothing here knows HTTP beyond the
//! methods and paths in that table, nor how connectors identify users. Tokens and passwords are
//! never stored or logged: the store sees a token's hash only.

mod action;
mod authorize;
mod identity;
mod limiter;
mod principal;
mod providers;
mod role;
mod service;
mod token;
mod users;

pub use action::{Action, Method, RequiredAccess};
pub use authorize::{Decision, Exposure, Target, authorize};
pub use identity::{ConnectorName, Identity, UnknownConnector};
pub use principal::Principal;
pub use providers::{Directory, DirectoryError, Providers};
pub use role::Role;
pub use service::{Auth, Denied, Issued};
pub use users::{LocalUser, UserError};
