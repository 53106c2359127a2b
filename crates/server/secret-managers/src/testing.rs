//! Stand-ins for tests, on loopback.
//!
//! [`VaultStandIn`] speaks the part of Vault's documented HTTP that is used here. It is no Vault:
//! what it does was read from the documentation, not seen. [`Moto`] is a program of others that
//! stands for AWS; [`AwsStandIn`] stands for the few calls that are made of it where that program
//! is not there.

mod aws;
mod http;
mod moto;
mod vault;

pub use aws::AwsStandIn;
pub use moto::{Moto, ROLE};
pub use vault::{VaultStandIn, VaultState};
