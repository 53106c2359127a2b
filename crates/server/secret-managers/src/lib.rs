//! Clients of secret managers such as Vault, and the names under which each keeps a variable.
//!
//! - [`Asker`] is the build or check that needs a variable, [`Template`] makes a name of it;
//! - [`Manager`] is one manager, [`open()`] makes one from the settings of a var source;
//! - `vault` and `aws` are the managers.
//!
//! Everything blocks, as the same code runs in the threads of a checker (the addresses are a
//! tenant's) and in the server (they are the administrator's); see decision 21.
//!
//! **Invariants:** nothing here keeps a secret longer than the answer takes, but for the login; no
//! secret is in an error; no name leads out of the part that the manager's settings allow the
//! asker. *Absent:* caches, second tries, the choice of a manager for a variable.

mod asker;
mod aws;
mod error;
mod manager;
mod open;
mod places;
mod template;
#[cfg(feature = "testing")]
pub mod testing;
mod vault;

pub use asker::Asker;
pub use aws::{AwsSettings, SecretsManager, SecretsManagerSettings, Ssm, SsmSettings};
pub use error::Error;
pub use manager::{Manager, Owner, Secret};
pub use open::{Pool, open};
pub use template::{Template, TemplateError};
pub use vault::{Vault, VaultSettings};
