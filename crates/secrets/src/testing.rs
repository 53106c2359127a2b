//! Stand-ins for tests, on loopback.
//!
//! [`VaultStandIn`] speaks the part of Vault's documented HTTP that is used here. It is no Vault: what it does
//! was read from the documentation, not seen. [`Moto`] is a program of others that stands for AWS.

mod http;
mod moto;
mod vault;

pub use moto::{Moto, ROLE};
pub use vault::{State, VaultStandIn};
