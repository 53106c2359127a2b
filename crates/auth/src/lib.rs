//! Who somebody is, and what they may do.
//!
//! [`Auth`] turns a name and password into a token and a token into a [`Principal`]; [`Action`] is
//! the one table that says what each route needs, and [`authorize`] the one function that decides.
//! Nothing here knows HTTP beyond the methods and paths in that table. Tokens and passwords are
//! never stored or logged: the store sees a token's hash only.

#![forbid(unsafe_code)]

mod action;
mod authorize;
mod limiter;
mod principal;
mod role;
mod service;
mod token;
mod users;

pub use action::{Access, Action, Method};
pub use authorize::{Decision, Exposure, Target, authorize};
pub use principal::Principal;
pub use role::Role;
pub use service::{Auth, Denied, Issued};
pub use users::{LocalUser, UserError};
