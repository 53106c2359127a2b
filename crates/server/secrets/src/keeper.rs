//! Keepers of secrets.

use airside_secret_managers::{Asker, Error, Secret};
use async_trait::async_trait;

#[async_trait]
pub(crate) trait Keeper: Send + Sync {
    /// Returns the paths at which a variable may be kept, the most particular to the asker first.
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error>;

    /// Returns the secret that is kept there, if there is one.
    async fn read(&self, asker: &Asker, path: &str) -> Result<Option<Secret>, Error>;

    /// Returns true if its answer about a path is the same for all askers, for a while.
    fn may_be_kept(&self) -> bool {
        true
    }
}
