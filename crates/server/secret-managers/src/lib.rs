//! Clients of other people's secret managers, and the names under which each keeps a variable.
//!
//! - [`Asker`] is for whom a variable is looked up, [`Template`] how that becomes a name;
//! - [`Manager`] is one manager that can be asked, [`open`] makes one from the settings of a var source;
//! - `vault` and `aws` are the managers.
//!
//! Everything blocks, as the same code runs in the threads of a checker (the addresses are a tenant's) and
//! in the server (they are the operator's); see decision 21.
//!
//! **Invariants:** nothing here keeps a secret longer than the answer takes, but for the login; no secret is
//! in an error; no name leads out of what the manager's settings allow the asker. *Absent:* caches, second
//! tries, who is asked for which variable.

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
