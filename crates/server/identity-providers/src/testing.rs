//! Providers for tests: a small OpenID provider that signs real tokens, an imitation of the part of
//! GitHub that is asked here, and a real slapd.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod github;
mod oidc;
mod server;
mod slapd;

pub use github::TestGithub;
pub use oidc::{Signer, TestProvider};
pub use slapd::Slapd;
