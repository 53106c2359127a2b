//! Identity providers beside the server's own settings.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{ConnectorName, Identity};

/// A list of users and passwords outside of the server: a directory such as LDAP.
#[async_trait]
pub trait Directory: Send + Sync {
    fn connector(&self) -> ConnectorName;

    /// Returns the user's identity, or `None` if there is no such user or the password is another
    /// one.
    async fn check(&self, name: &str, password: &str) -> Result<Option<Identity>, DirectoryError>;
}

/// The reason why a directory could not be asked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DirectoryError(Box<dyn std::error::Error + Send + Sync>);

impl DirectoryError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Providers that are configured; none of them by default.
#[derive(Clone, Default)]
pub struct Providers {
    /// Asked about every name that no local user has.
    pub directory: Option<Arc<dyn Directory>>,
    /// The connectors that a browser is sent to.
    pub redirecting: Vec<ConnectorName>,
}

impl Providers {
    /// Returns true if tokens of users of this connector are still good.
    pub(crate) fn include(&self, connector: ConnectorName) -> bool {
        let directory = self
            .directory
            .as_ref()
            .map(|directory| directory.connector());
        directory == Some(connector) || self.redirecting.contains(&connector)
    }
}
