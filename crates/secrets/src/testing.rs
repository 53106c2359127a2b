//! Stand-ins for tests, on loopback.
//!
//! [`VaultStandIn`] speaks the part of Vault's documented HTTP that is used here. It is no Vault: what it does
//! was read from the documentation, not seen.

mod http;
mod vault;

pub use vault::{State, VaultStandIn};
