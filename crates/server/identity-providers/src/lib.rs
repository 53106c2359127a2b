//! Finds out who somebody is from an identity provider outside.
//!
//! ```text
//!              ┌─ Redirecting: the browser goes there and comes back with a code ─ Oidc, Github
//! Connectors ──┤
//!              └─ Directory (airside_auth): asked with a name and a password ───── Ldap
//! ```
//!
//! What comes out is an [`airside_auth::Identity`]: who vouches, names and groups. What somebody may
//! do is not decided here, and there are no sessions, cookies or pages. Everything that is asked of a
//! provider has a time limit, and secrets appear neither in errors nor in debug output.

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
pub use ldap::{GroupSearch, Ldap, LdapConfig, LdapSetupError, LdapTls, Reach, UserSearch};
pub use oidc::{IdTokenError, Oidc, OidcConfig, OidcSetupError};
pub use secret::Secret;

/// How long to wait for a provider, unless told otherwise.
pub const PATIENCE: std::time::Duration = http::PATIENCE;

/// A provider that the user's browser is sent to.
#[async_trait]
pub trait Redirecting: Send + Sync {
    fn connector(&self) -> ConnectorName;

    /// What people know it by.
    fn title(&self) -> &str;

    /// Where to send the browser. It comes back to `callback` with `state` and a code.
    async fn begin(
        &self,
        attempt: &Attempt,
        state: &str,
        callback: &str,
    ) -> Result<Url, ConnectorError>;

    /// Who came back with this code from the same attempt.
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

    /// What the login form calls the directory, if there is one.
    pub fn directory_title(&self) -> Option<&str> {
        self.directory.as_ref().map(|directory| directory.title())
    }

    /// What [`airside_auth::Auth`] has to know of these.
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
