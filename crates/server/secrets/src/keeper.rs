//! Somebody who keeps secrets.

use airside_secret_managers::{Asker, Error, Secret};
use async_trait::async_trait;

#[async_trait]
pub(crate) trait Keeper: Send + Sync {
    /// Where a variable may be kept, what is most particular to the asker first.
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error>;

    /// What is kept there; `None`: nothing.
    async fn read(&self, asker: &Asker, path: &str) -> Result<Option<Secret>, Error>;

    /// Whether what it says of a path is the same for everybody, for a while.
    fn may_be_kept(&self) -> bool {
        true
    }
}
