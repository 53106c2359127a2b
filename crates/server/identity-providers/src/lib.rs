//! Identifies users through identity providers outside.
//!
//! ```text
//!              ┌─ Redirecting: the browser goes there and comes back with a code ─ Oidc, Github
//! Connectors ──┤
//!              └─ Directory (airside_auth): asked with a name and a password ───── Ldap
//! ```
//!
//! The result is an [`airside_auth::Identity`]: the provider, names and groups. The rights of users
//! are not decided here, and there are no sessions, cookies or pages. Every request to a provider
//! has a time limit, and secrets appear neither in errors nor in debug output.

mod attempt;
mod error;
mod github;
mod gitlab;
mod http;
mod ldap;
mod oauth;
mod oidc;
mod secret;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::Arc;

use airside_auth::{ConnectorName, Directory, Identity, Providers};
use async_trait::async_trait;
use url::Url;

pub use attempt::Attempt;
pub use error::{ConnectorError, Fault};
pub use github::{Github, GithubConfig};
pub use gitlab::{GitlabConfig, gitlab};
pub use http::HttpError;
pub use ldap::{GroupSearch, Ldap, LdapConfig, LdapSetupError, LdapTls, SearchDepth, UserSearch};
pub use oidc::{IdTokenError, Oidc, OidcConfig, OidcSetupError};
pub use secret::Secret;

/// Default time limit of a request to a provider.
pub const REQUEST_TIMEOUT: std::time::Duration = http::REQUEST_TIMEOUT;

/// A provider that the user's browser is sent to.
#[async_trait]
pub trait Redirecting: Send + Sync {
    fn connector(&self) -> ConnectorName;

    /// Returns the name under which users know the provider.
    fn title(&self) -> &str;

    /// Returns the address to send the browser to. It comes back to `callback` with `state` and a
    /// code.
    async fn begin(
        &self,
        attempt: &Attempt,
        state: &str,
        callback: &str,
    ) -> Result<Url, ConnectorError>;

    /// Returns the identity of the user who came back with this code from the same attempt.
    async fn finish(
        &self,
        attempt: &Attempt,
        code: &str,
        callback: &str,
    ) -> Result<Identity, ConnectorError>;
}

/// Every connector of a server, at most one of a kind.
#[derive(Clone, Default)]
pub struct Connectors {
    redirecting: Vec<Arc<dyn Redirecting>>,
    directory: Option<Arc<Ldap>>,
}

impl Connectors {
    pub fn add(&mut self, connector: impl Redirecting + 'static) {
        self.redirecting.push(Arc::new(connector));
    }

    pub fn set_directory(&mut self, directory: Ldap) {
        self.directory = Some(Arc::new(directory));
    }

    pub fn redirecting(&self) -> &[Arc<dyn Redirecting>] {
        &self.redirecting
    }

    pub fn find(&self, name: ConnectorName) -> Option<&Arc<dyn Redirecting>> {
        self.redirecting
            .iter()
            .find(|connector| connector.connector() == name)
    }

    /// Returns the directory's name for the login form, if there is a directory.
    pub fn directory_title(&self) -> Option<&str> {
        self.directory.as_ref().map(|directory| directory.title())
    }

    /// Returns the part of these that [`airside_auth::Auth`] needs.
    pub fn providers(&self) -> Providers {
        Providers {
            directory: self
                .directory
                .clone()
                .map(|directory| directory as Arc<dyn Directory>),
            redirecting: self
                .redirecting
                .iter()
                .map(|connector| connector.connector())
                .collect(),
        }
    }
}
